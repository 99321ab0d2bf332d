// The bursts in which samples collect values and references where --every says nothing (the counted
// bursts of hybrid-profiling-support): in each period, one of about this many instructions.
#pragma once

#include <cstdint>

namespace shadowprof {

inline constexpr std::uint64_t value_burst_period = 320'000;  // instructions
inline constexpr std::uint64_t value_burst_instructions = 5'000;
// Ten times as long as the largest reorder buffer.
inline constexpr std::uint64_t reference_burst_instructions = 5'000;
// A data stream is hot by its share of the references, so a burst needs enough references to judge
// that share. How long it is matters less (docs/architecture/collectors.md).
inline constexpr std::uint64_t stream_burst_instructions = 40'000;

}  // namespace shadowprof
