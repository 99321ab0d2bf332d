// How often the instructions of a sample count.
#pragma once

#include <cstdint>
#include <optional>

namespace shadowprof {

// What a sample stands for, in units that are the same in all samples: executions in the program's
// time for each execution in the sample. `stands_for_seconds`: of the program's time. Where the
// program needed `window_seconds` for what the sample has, that alone says it. Else the sample has
// about so many `instructions`, and code like it is taken to execute `speed` of them a second.
std::uint32_t sample_weight(double stands_for_seconds, std::optional<double> window_seconds,
                            std::uint64_t instructions, double speed);
// The same where all samples have as many instructions: in units of SampleSchedule::weight_unit.
std::uint32_t sample_weight(double stands_for_seconds);

// How fast a process executes instructions by itself, as its windows say.
class NativeSpeed {
  public:
    void add(std::uint64_t instructions, double seconds) {
        instructions_ += static_cast<double>(instructions);
        seconds_ += seconds;
    }
    double instructions_per_second() const {
        return seconds_ == 0 ? unknown : instructions_ / seconds_;
    }

  private:
    // As long as nothing is known: all samples are alike then.
    static constexpr double unknown = 3e9;

    double instructions_ = 0, seconds_ = 0;
};

}  // namespace shadowprof
