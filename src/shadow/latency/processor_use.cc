#include "shadow/latency/processor_use.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <string>

#include "base/clock.h"

namespace shadowprof {
ProcessorUse::ProcessorUse() : begun_(read()) {}

// The first line of proc_stat(5): user, nice, system, idle, iowait, irq, softirq and steal.
ProcessorUse::Seconds ProcessorUse::read() {
    std::ifstream in("/proc/stat");
    std::string cpu;
    std::array<double, 8> ticks = {};
    in >> cpu;
    for (auto& count : ticks) in >> count;
    if (!in) return {};
    constexpr std::size_t idle = 3, io_wait = 4;
    const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto all = std::accumulate(ticks.begin(), ticks.end(), 0.0);
    return {.all = all / per_second,
            .busy = (all - ticks[idle] - ticks[io_wait]) / per_second,
            .own = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN)};
}

double ProcessorUse::others_share() const {
    const auto now = read();
    const auto all = now.all - begun_.all;
    const auto others = (now.busy - begun_.busy) - (now.own - begun_.own);
    return all > 0 ? std::clamp(others / all, 0.0, 1.0) : 0;
}

// The first word of proc_loadavg(5) is the mean of a minute. The fourth begins with the number of
// threads that run or are ready now, one of which is ours.
double share_wanted_now() {
    std::ifstream in("/proc/loadavg");
    double minute = 0, five_minutes = 0, quarter = 0;
    long running = 0;
    in >> minute >> five_minutes >> quarter >> running;
    if (!in) return 0;
    const auto processors = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
    const auto wanted = std::max(minute, static_cast<double>(running - 1));
    return std::clamp(wanted / static_cast<double>(processors), 0.0, 1.0);
}

}  // namespace shadowprof
