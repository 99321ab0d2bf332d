#include "base/urgency.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
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

// struct sched_attr of sched_setattr(2). The kernel's header cannot be used beside <sched.h>.
struct SchedAttributes {
    std::uint32_t size = sizeof(SchedAttributes), policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

// From Linux 6.12 on, a thread with a shorter time slice gets its processor as soon as it wakes up
// (the scheduler's feature PREEMPT_SHORT). This is the shortest one. Earlier kernels ignore it.
constexpr std::uint64_t short_slice_ns = 100'000;

// Returns the slice that a thread without a real-time priority has; 0: the usual one.
std::optional<std::uint64_t> slice_ns(pid_t tid) {
    SchedAttributes attributes;
    if (::syscall(SYS_sched_getattr, tid, &attributes, sizeof attributes, 0) != 0)
        return std::nullopt;
    return attributes.runtime_ns;
}

bool set_slice(pid_t tid, std::uint64_t ns) {
    SchedAttributes attributes;
    if (::syscall(SYS_sched_getattr, tid, &attributes, sizeof attributes, 0) != 0) return false;
    attributes.runtime_ns = ns;
    return ::syscall(SYS_sched_setattr, tid, &attributes, 0) == 0;
}

}  // namespace

Urgency::Urgency(pid_t tid)
    : tid_(tid == 0 ? ::gettid() : tid), policy_(::sched_getscheduler(tid_)) {
    if (policy_ < 0 || has_priority(policy_)) return;
    if (::sched_getparam(tid_, &parameters_) != 0) return;
    const sched_param urgent{.sched_priority = tid == 0 ? own_priority : min_priority};
    is_granted_ = ::sched_setscheduler(tid_, SCHED_RR | SCHED_RESET_ON_FORK, &urgent) == 0;
    if (is_granted_) return;
    slice_before_ns_ = slice_ns(tid_);
    if (slice_before_ns_ && !set_slice(tid_, short_slice_ns)) slice_before_ns_.reset();
}

Urgency::Urgency(Urgency&& other) noexcept
    : tid_(other.tid_),
      is_granted_(std::exchange(other.is_granted_, false)),
      slice_before_ns_(std::exchange(other.slice_before_ns_, std::nullopt)),
      policy_(other.policy_),
      parameters_(other.parameters_) {}

// A caller that may only raise its priority by a resource limit may not clear SCHED_RESET_ON_FORK.
Urgency::~Urgency() {
    if (slice_before_ns_) set_slice(tid_, *slice_before_ns_);
    if (!is_granted_ || ::sched_setscheduler(tid_, policy_, &parameters_) == 0) return;
    ::sched_setscheduler(tid_, policy_ | SCHED_RESET_ON_FORK, &parameters_);
}

}  // namespace shadowprof
