// The value of --profiles, which a command of a control channel has too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/kinds/profile_kinds.h"

namespace shadowprof {

// "edge,value", "method" for what methods are derived from, "all". Errors: usage, saying what is
// accepted, and the word that was meant.
Result<ProfileKinds> parse_profile_kinds(std::string_view text);

// "edge,path": the names of all that come of these.
std::string profile_kinds_text(const ProfileKinds& kinds);

// The words that a list has, but for "all".
std::span<const std::string_view> profile_kind_words();

}  // namespace shadowprof
