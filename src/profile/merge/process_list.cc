#include "profile/merge/process_list.h"

#include <algorithm>
#include <tuple>

namespace shadowprof {

void sort_and_shorten(std::vector<ProcessInfo>& processes, OtherProcesses& others,
                      std::size_t most) {
    // All other fields break ties, so that the order of the input does not matter.
    std::sort(processes.begin(), processes.end(), [](const ProcessInfo& a, const ProcessInfo& b) {
        const auto rest = [](const ProcessInfo& p) {
            return std::tie(p.pid, p.started_seconds, p.samples, p.command, p.parent, p.exit_status,
                            p.exit_signal);
        };
        if (a.instructions != b.instructions) return a.instructions > b.instructions;
        return a.seconds != b.seconds ? a.seconds > b.seconds : rest(a) < rest(b);
    });
    for (; processes.size() > most; processes.pop_back()) {
        ++others.count;
        others.samples += processes.back().samples;
        others.instructions += processes.back().instructions;
    }
}

}  // namespace shadowprof
