// Limits of runs that follow every instruction.
#pragma once

#include <chrono>
#include <cstddef>

namespace shadowprof {

// How often to look, while the program is emulated, whether a signal waits for it.
inline constexpr std::chrono::milliseconds signal_period{20};
// A worker that says nothing for this long is taken for hung.
inline constexpr std::chrono::seconds silence_limit{20};
// How often another place is tried if the worker has no room for the program's mappings.
inline constexpr int max_places = 8;
// Of so many divergences the differences are kept.
inline constexpr std::size_t kept_divergences = 20;

}  // namespace shadowprof
