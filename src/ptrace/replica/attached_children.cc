#include "ptrace/replica/attached_children.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ptrace/proc/descendants.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// A process that is born while others are attached to is found by another pass.
constexpr int max_passes_over_children = 10;

bool is_traced_by_this_thread(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && status->tracer_pid == ::gettid();
}

class ChildAttacher {
  public:
    ChildAttacher(WaitHub& hub, Target& first) : hub_(hub), first_(first) {
        seen_.insert(first.pid());
    }

    AttachedChildren attach_all() {
        for (int pass = 0; pass < max_passes_over_children && attach_new(); ++pass) {
        }
        return std::move(attached_);
    }

  private:
    // Returns whether there were any.
    bool attach_new() {
        bool found_new = false;
        for (const auto& [pid, parent] : read_descendants(first_.pid())) {
            if (!seen_.insert(pid).second || is_traced_by_this_thread(pid)) continue;
            attach(pid, parent);
            found_new = true;
            keep_going();
        }
        return found_new;
    }

    void attach(pid_t pid, pid_t parent) {
        auto target = Target::attach(hub_, pid, first_.forks());
        if (target) {
            if (have_same_memory(pid, parent).value_or(false)) (*target)->note_shared_memory();
            attached_.children.push_back({*std::move(target), parent});
        } else if (!has_thread_ended(pid, pid)) {
            attached_.refusals.push_back(target.error().message);
        }
    }

    Target* find(const WaitEvent& event) {
        const auto status = read_proc_status(event.pid);
        const auto is_its = [&](const Target& target) {
            return target.has_thread(event.pid) || (status && status->tgid == target.pid());
        };
        if (is_its(first_)) return &first_;
        const auto child = std::ranges::find_if(
            attached_.children, [&](const AttachedChild& each) { return is_its(*each.target); });
        return child == attached_.children.end() ? nullptr : child->target.get();
    }

    // Statuses of processes that were born meanwhile are for the TargetFamily.
    void keep_going() {
        std::vector<WaitEvent> others;
        while (const auto event = hub_.poll()) {
            Target* const target = find(*event);
            if (!target || !target->handle(*event)) others.push_back(*event);
        }
        for (auto it = others.rbegin(); it != others.rend(); ++it) hub_.put_back(*it);
    }

    WaitHub& hub_;
    Target& first_;
    std::set<pid_t> seen_;
    AttachedChildren attached_;
};

}  // namespace

AttachedChildren attach_children(WaitHub& hub, Target& first) {
    return ChildAttacher(hub, first).attach_all();
}

}  // namespace shadowprof
