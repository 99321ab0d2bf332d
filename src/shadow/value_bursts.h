// How often samples collect values: the counted bursts of hybrid-profiling-support.
#pragma once

#include <cstdint>

namespace shadowprof {

// Of each period of about this many instructions, about as many as a burst has run with values.
inline constexpr std::uint64_t value_burst_period = 320'000;
inline constexpr std::uint64_t value_burst_instructions = 5'000;

}  // namespace shadowprof
