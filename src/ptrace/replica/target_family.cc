#include "ptrace/replica/target_family.h"

#include <unistd.h>

#include <csignal>
#include <iterator>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/replica/replica.h"

namespace shadowprof {
TargetFamily::TargetFamily(WaitHub& hub, Target& first, std::vector<AttachedChild> children)
    : hub_(hub) {
    members_[0].target = &first;
    for (auto& child : children) add(std::move(child.target), child.parent);
}

TargetFamily::~TargetFamily() {
    detach_born(Target::Sleepers::stop);
}

bool TargetFamily::handle(const WaitEvent& event) {
    Target* target = find_owner(event.pid);
    if (!target) target = take_in(event);
    const bool handled = target && target->handle(event);
    adopt_births();
    return handled;
}

void TargetFamily::adopt_births() {
    for (auto& [number, member] : members_)
        for (const auto& birth : member.target->take_births()) adopt(birth, member.target->pid());
}

Target* TargetFamily::find_process(pid_t pid) const {
    for (const auto& [number, member] : members_)
        if (member.target->pid() == pid && !member.target->end()) return member.target;
    return nullptr;
}

Target* TargetFamily::find_owner(pid_t tid) const {
    for (const auto& [number, member] : members_)
        if (member.target->has_thread(tid)) return member.target;
    return nullptr;
}

// Returns the target of a thread that no target knows. Null if the status is of something else, or
// of a process that ended before it was known.
Target* TargetFamily::take_in(const WaitEvent& event) {
    Target& first = *members_.at(0).target;
    if (event.pid == first.pid()) return &first;
    if (first.forks() == Forks::detach) return find_unfollowed(event.pid);
    if (event.status.is_end()) return nullptr;
    const auto status = read_proc_status(event.pid);
    if (!status) return nullptr;
    if (Target* known = find_process(status->tgid)) return known;
    if (status->tgid != event.pid) return nullptr;
    if (is_stray_replica(StoppedThread(hub_, event.pid, event.status))) {
        ::kill(event.pid, SIGKILL);
        hub_.discard(event.pid);
        return nullptr;
    }
    const Target* parent = find_process(status->parent_pid);
    const bool shares = parent && have_same_memory(event.pid, parent->pid()).value_or(true);
    return &adopt(event.pid, parent ? parent->pid() : 0, shares);
}

// Returns the target of a new thread, or of a process that the kernel has attached though forks are
// not followed. An end may be of either.
Target* TargetFamily::find_unfollowed(pid_t tid) const {
    Target* const first = members_.at(0).target;
    const auto status = read_proc_status(tid);
    if (members_.size() == 1 || !status) return first;
    if (Target* own = find_process(status->tgid)) return own;
    if (Target* parent = find_process(status->parent_pid)) return parent;
    return first;
}

Target& TargetFamily::adopt(pid_t pid, pid_t parent, bool shares_memory) {
    return add(Target::take_born(hub_, pid, shares_memory), parent);
}

Target& TargetFamily::add(std::unique_ptr<Target> target, pid_t parent) {
    Member& member = members_[next_number_++];
    member.owned = std::move(target);
    member.owned->set_relatives(this);
    member.target = member.owned.get();
    member.parent = parent;
    return *member.target;
}

void TargetFamily::adopt(const Target::Birth& birth, pid_t parent) {
    const bool shares = have_same_memory(birth.pid, birth.thread).value_or(birth.by_vfork);
    if (Target* known = find_process(birth.pid)) {
        if (shares) known->note_shared_memory();
        return;
    }
    // A process that was killed at once may be gone with all of its statuses.
    const auto status = read_proc_status(birth.pid);
    if (status && status->tracer_pid == ::gettid()) adopt(birth.pid, parent, shares);
}

Result<void> TargetFamily::detach(Target::Sleepers sleepers) {
    auto first = members_.at(0).target->detach(sleepers);
    adopt_births();
    detach_born(sleepers);
    return first;
}

void TargetFamily::detach_born(Target::Sleepers sleepers) {
    while (members_.size() > 1) {
        const auto last = std::prev(members_.end());
        static_cast<void>(last->second.target->detach(sleepers));
        adopt_births();
        members_.erase(last);
    }
}

}  // namespace shadowprof
