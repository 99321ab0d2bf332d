// Reading clocks.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdint>

namespace shadowprof {

// Reads a clock by clock_gettime(2), in nanoseconds. Returns 0 for a clock that does not exist.
inline std::int64_t read_clock_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

inline std::uint64_t to_ns(std::chrono::steady_clock::duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

// Returns the user and system time of getrusage(2). `who` is RUSAGE_SELF, or RUSAGE_CHILDREN for
// children that were reaped.
inline double cpu_seconds(int who) {
    rusage usage = {};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace shadowprof
