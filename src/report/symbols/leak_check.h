// Programs that look for leaks when they end (LeakSanitizer), for which they trace themselves.
#pragma once

#include <optional>
#include <string>

#include "profile/profile.h"

namespace shadowprof {

// The note of a run in which a process with LeakSanitizer ended with an error, as it cannot trace
// itself while shadowprof does; nothing if there was none.
std::optional<std::string> note_of_leak_check(const Profile& profile);

}  // namespace shadowprof
