// The value of --profiles, which a command of a control channel has too.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "shadow/run_options.h"

namespace shadowprof {

// "edge,value", "method" for what methods are derived from, "all". Errors: usage, saying what is
// accepted, and the word that was meant.
Result<ProfileKinds> parse_profile_kinds(std::string_view text);

// "edge,path": the names of all that come of these.
std::string profile_kinds_text(const ProfileKinds& kinds);

// What one or the other has.
ProfileKinds both(const ProfileKinds& a, const ProfileKinds& b);
// `all` has all of `some`.
bool contains(const ProfileKinds& all, const ProfileKinds& some);

}  // namespace shadowprof
