#include "shadow/latency/session_processors.h"

#include "shadow/program/processors.h"

namespace shadowprof {

SessionProcessors::SessionProcessors(int busy, pid_t worker) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    const auto other = other_processor(before_, busy, siblings_of(busy));
    if (!other) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(*other), &one);
    if (worker != 0) (void)sched_setaffinity(worker, sizeof one, &one);
    moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
}

SessionProcessors::~SessionProcessors() {
    if (moved_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace shadowprof
