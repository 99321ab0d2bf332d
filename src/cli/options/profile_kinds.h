// The value of --profiles, which is also the value of a control command.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/kinds/profile_kinds.h"

namespace shadowprof {

// Parses a list of kinds: "edge,value", or "all". "method" stands for the kinds that methods are
// derived from. Errors: usage; the message says what is accepted and suggests the nearest word.
Result<ProfileKinds> parse_profile_kinds(std::string_view text);

// Returns the list of all words whose kinds are in `kinds`: "edge,path".
std::string profile_kinds_text(const ProfileKinds& kinds);

// Returns all words that a list may have, without "all".
std::span<const std::string_view> profile_kind_words();

}  // namespace shadowprof
