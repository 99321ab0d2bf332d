// Limits the length of lists of processes.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

inline constexpr std::size_t max_processes = 256;

// Sorts the processes by their instructions, hottest first; processes with equally many are sorted
// by their duration, longest first. Adds those behind the first `most` to `others`.
void sort_and_shorten(std::vector<ProcessInfo>& processes, OtherProcesses& others,
                      std::size_t most = max_processes);

}  // namespace shadowprof
