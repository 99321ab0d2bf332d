#include "shadow/exact/process/one_processor.h"

#include <unistd.h>

#include <algorithm>

namespace shadowprof {

OneProcessor::OneProcessor(std::initializer_list<pid_t> others) : processor_(sched_getcpu()) {
    add(gettid());
    for (const auto thread : others) add(thread);
}

OneProcessor::~OneProcessor() {
    for (const auto& [thread, processors] : before_)
        sched_setaffinity(thread, sizeof processors, &processors);
}

void OneProcessor::add(pid_t thread) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (processor_ < 0 || sched_getaffinity(thread, sizeof processors, &processors) != 0) return;
    const auto place = static_cast<std::size_t>(processor_);
    if (CPU_COUNT(&processors) < 2 || !CPU_ISSET(place, &processors)) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(place, &one);
    if (sched_setaffinity(thread, sizeof one, &one) == 0) before_.emplace_back(thread, processors);
}

void OneProcessor::remove(pid_t thread) {
    const auto found = std::ranges::find(before_, thread, &std::pair<pid_t, cpu_set_t>::first);
    if (found == before_.end()) return;
    sched_setaffinity(thread, sizeof found->second, &found->second);
    before_.erase(found);
}

}  // namespace shadowprof
