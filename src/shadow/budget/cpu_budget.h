// Limits the processor time of shadowprof itself to a share of a processor, which is earned as time
// passes. Emulation takes other processors than the program's if there are any, so it does not
// count as slowdown of the program (budget.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace shadowprof {

class CpuBudget {
  public:
    using Clock = std::chrono::steady_clock;

    // `percent` of one processor; more than 0.
    explicit CpuBudget(double percent) : processors_(percent / 100) {}

    // `own_cpu_ns`: processor time of this process and its workers until now. The first call begins
    // the account.
    void observe(Clock::time_point now, std::uint64_t own_cpu_ns);
    // When more may be taken; nothing: now, or nothing has been observed.
    std::optional<Clock::time_point> spent_until() const;

  private:
    struct Observation {
        Clock::time_point time;
        std::uint64_t own_cpu_ns = 0;
    };

    // This much may be taken in advance, and this much may be saved. When a program begins, or
    // turns to something else, its modules are read and its code is translated.
    static constexpr double max_saved_seconds = 0.5;

    static constexpr double longest_wait_seconds = 3600;

    double processors_;
    std::optional<Observation> last_;
    double left_seconds_ = max_saved_seconds;
};

}  // namespace shadowprof
