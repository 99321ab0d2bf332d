#include "profile/process_list.h"

#include <algorithm>
#include <tuple>

namespace shadowprof {

void sort_and_shorten(std::vector<ProcessInfo>& processes, OtherProcesses& others,
                      std::size_t most) {
    std::stable_sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
        return std::tie(a.instructions, a.seconds) > std::tie(b.instructions, b.seconds);
    });
    for (; processes.size() > most; processes.pop_back()) {
        ++others.count;
        others.samples += processes.back().samples;
        others.instructions += processes.back().instructions;
    }
}

}  // namespace shadowprof
