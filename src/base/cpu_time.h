// Processor time of this process.
#pragma once

#include <sys/resource.h>

namespace shadowprof {

// `who`: RUSAGE_SELF, or RUSAGE_CHILDREN for those that were reaped (getrusage(2)).
inline double cpu_seconds(int who) {
    rusage usage = {};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace shadowprof
