// Lists of processes that stay short, however many processes there are.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

inline constexpr std::size_t most_processes = 256;

// Sorts the processes by their instructions, hottest first; of those that have equally many, the
// ones that lived longer come first. Adds those behind the first `most` to `others`.
void sort_and_shorten(std::vector<ProcessInfo>& processes, OtherProcesses& others,
                      std::size_t most = most_processes);

}  // namespace shadowprof
