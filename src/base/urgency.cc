#include "base/urgency.h"

#include <unistd.h>

#include <utility>

namespace shadowprof {
namespace {

// Above all threads without a real-time priority. No higher, because other threads that have one
// may need it more.
constexpr int min_priority = 1;
constexpr int own_priority = min_priority + 1;

bool has_priority(int policy) {
    const int kind = policy & ~SCHED_RESET_ON_FORK;
    return kind != SCHED_OTHER && kind != SCHED_BATCH && kind != SCHED_IDLE;
}

}  // namespace

Urgency::Urgency(pid_t tid)
    : tid_(tid == 0 ? ::gettid() : tid), policy_(::sched_getscheduler(tid_)) {
    if (policy_ < 0 || has_priority(policy_)) return;
    if (::sched_getparam(tid_, &parameters_) != 0) return;
    const sched_param urgent{.sched_priority = tid == 0 ? own_priority : min_priority};
    is_granted_ = ::sched_setscheduler(tid_, SCHED_RR | SCHED_RESET_ON_FORK, &urgent) == 0;
}

Urgency::Urgency(Urgency&& other) noexcept
    : tid_(other.tid_),
      is_granted_(std::exchange(other.is_granted_, false)),
      policy_(other.policy_),
      parameters_(other.parameters_) {}

// A caller that may only raise its priority by a resource limit may not clear SCHED_RESET_ON_FORK.
Urgency::~Urgency() {
    if (!is_granted_ || ::sched_setscheduler(tid_, policy_, &parameters_) == 0) return;
    ::sched_setscheduler(tid_, policy_ | SCHED_RESET_ON_FORK, &parameters_);
}

}  // namespace shadowprof
