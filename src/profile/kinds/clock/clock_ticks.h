// Where processor time goes: ticks of the kernel's clock, and looks at threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"

namespace shadowprof {

// Where threads were when the kernel's clock of their processor time ticked
// (ptrace/proc/task_clock.h), or when they were looked at while they ran
// (shadow/program/thread_looks.h). Time in the kernel is left out.
struct ClockTicks {
    CodeLocation at;            // the next instruction to be executed
    std::uint64_t ticks = 0;    // and looks
    std::uint64_t time_ns = 0;  // time that the ticks stand for

    friend bool operator==(const ClockTicks&, const ClockTicks&) = default;
};

inline auto identity(const ClockTicks& c) {
    return std::tie(c.at);
}
inline std::uint64_t heat(const ClockTicks& c) {
    return c.time_ns;
}
inline void add(ClockTicks& sum, const ClockTicks& c) {
    sum.ticks += c.ticks;
    sum.time_ns += c.time_ns;
}

inline void subtract(ClockTicks& ticks, const ClockTicks& earlier) {
    subtract(ticks.ticks, earlier.ticks);
    subtract(ticks.time_ns, earlier.time_ns);
}
inline bool is_empty(const ClockTicks& c) {
    return c.ticks == 0;
}

void fields(auto& visitor, Like<ClockTicks> auto& c) {
    visitor.location("at", c.at);
    visitor.count("ticks", c.ticks);
    visitor.count("time_ns", c.time_ns);
}

struct ClockList {
    using Record = ClockTicks;
    static constexpr std::string_view name = "clock";
    static auto& of(auto& profile) { return profile.clock; }
    static constexpr bool is_kept_whole = true;
};

}  // namespace shadowprof
