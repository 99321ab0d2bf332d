// How often samples collect values and references: the counted bursts of hybrid-profiling-support,
// here windows.
#pragma once

#include <cstdint>

namespace shadowprof {

// In each period of about this many instructions, one window of about so many runs with values.
inline constexpr std::uint64_t value_window_period = 320'000;
inline constexpr std::uint64_t value_window_instructions = 5'000;
// The same of references, where they are collected: a window is ten times as long as the largest
// reorder buffer.
inline constexpr std::uint64_t reference_window_instructions = 5'000;
// Where data streams are collected: a share of the references that tells how hot they are. How long
// a window is matters less than how many references there are (docs/architecture/collectors.md).
inline constexpr std::uint64_t stream_window_instructions = 40'000;

}  // namespace shadowprof
