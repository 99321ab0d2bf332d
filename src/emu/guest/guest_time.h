// The time of a guest whose clocks follow its instructions, so that they show the same in each run.
#pragma once

#include <time.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace shadowprof {

struct GuestTime {
    static constexpr std::uint64_t instructions_per_ns = 3;
    // The first program begins at 2026-01-01 00:00 UTC, a thousand seconds after the boot.
    static constexpr std::int64_t first_real_time_ns = 1'767'225'600'000'000'000;
    static constexpr std::int64_t first_uptime_ns = 1'000'000'000'000;

    static constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

    std::uint64_t is_virtual = 0;    // 0: the guest has the host's clocks, and the next two are 0
    std::uint64_t instructions = 0;  // executed by the program and those that it descends from
    std::uint64_t waited_ns = 0;     // in calls, as long as they said
    // When a timer of processor time is due: the run then ends between two turns.
    std::int64_t timer_due_ns = never_ns;
    std::int64_t timer_found_due_ns = never_ns;  // the processor time when it has ended for that

    std::int64_t processor_ns() const {
        return static_cast<std::int64_t>(instructions / instructions_per_ns);
    }
    std::int64_t passed_ns() const { return processor_ns() + static_cast<std::int64_t>(waited_ns); }
    std::int64_t uptime_ns() const { return first_uptime_ns + passed_ns(); }
    // RDTSC returns this. A tick is a nanosecond.
    std::uint64_t ticks() const { return static_cast<std::uint64_t>(uptime_ns()); }
    // The clock shows this time (clock_gettime(2)). Nothing if it is none of the usual clocks.
    std::optional<std::int64_t> clock_ns(clockid_t clock) const {
        switch (clock) {
            case CLOCK_REALTIME:
            case CLOCK_REALTIME_COARSE:
            case CLOCK_REALTIME_ALARM:
            case CLOCK_TAI:
                return first_real_time_ns + passed_ns();
            case CLOCK_MONOTONIC:
            case CLOCK_MONOTONIC_RAW:
            case CLOCK_MONOTONIC_COARSE:
            case CLOCK_BOOTTIME:
            case CLOCK_BOOTTIME_ALARM:
                return uptime_ns();
            case CLOCK_PROCESS_CPUTIME_ID:
            case CLOCK_THREAD_CPUTIME_ID:
                return processor_ns();
            default:
                return std::nullopt;
        }
    }
};

}  // namespace shadowprof
