// How often the instructions of a sample count.
#pragma once

#include <cstdint>

namespace shadowprof {

// Returns how many executions in the program's time one execution in the sample stands for, in
// units that are the same for all samples. `stands_for_seconds`: the program's time that the sample
// stands for; `sample_seconds`: how long the program needed, or is likely to have needed, for what
// the sample has.
std::uint32_t sample_weight(double stands_for_seconds, double sample_seconds);
// The weight if all samples have equally many instructions, in units of
// SampleSchedule::weight_unit.
std::uint32_t sample_weight(double stands_for_seconds);

}  // namespace shadowprof
