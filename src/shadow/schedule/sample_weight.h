// How often the instructions of a sample count.
#pragma once

#include <cstdint>

namespace shadowprof {

// What a sample stands for, in units that are the same in all samples: executions in the program's
// time for each execution in the sample. `stands_for_seconds`: of the program's time;
// `sample_seconds`: what the program needed, or is likely to have needed, for what the sample has.
std::uint32_t sample_weight(double stands_for_seconds, double sample_seconds);
// The same where all samples have as many instructions: in units of SampleSchedule::weight_unit.
std::uint32_t sample_weight(double stands_for_seconds);

}  // namespace shadowprof
