// A target and, if its forks are followed, all processes that descend from it. Each is a Target of
// its own. It becomes known by the first status that mentions it: the parent's fork event or a stop
// of the child. Those that existed before an attach are handed over (attached_children.h).
//
// Processes with CLONE_UNTRACED are not followed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/attached_children.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

class TargetFamily : public Relatives {
  public:
    struct Member {
        Target* target = nullptr;
        pid_t parent = 0;  // process that forked it; 0 if unknown, or for the first target
        std::unique_ptr<Target> owned;  // empty for the first target
    };
    // In the order in which they became known. The first target is number 0.
    using Members = std::map<std::uint64_t, Member>;

    // `hub` and `first` must outlive the family.
    TargetFamily(WaitHub& hub, Target& first, std::vector<AttachedChild> children = {});
    // Detaches from all targets except the first.
    ~TargetFamily() override;

    // Handles a status from the hub. Returns false if it is of no process of the family.
    bool handle(const WaitEvent& event);
    // Adds processes whose fork events the targets have taken themselves during stops. References
    // to members stay valid.
    void adopt_births();

    Target* find_process(pid_t pid) const override;

    // Includes members that have ended.
    const Members& members() const { return members_; }
    // Needs the number of a process that has ended or is detached, and is not the first.
    void forget(std::uint64_t number) { members_.erase(number); }

    // Ends the tracing of all, the latest known first. Returns the result of the first target.
    Result<void> detach(Target::Sleepers sleepers);

  private:
    Target* find_owner(pid_t tid) const;
    Target* take_in(const WaitEvent& event);
    Target* find_unfollowed(pid_t tid) const;
    Target& add(std::unique_ptr<Target> target, pid_t parent);
    Target& adopt(pid_t pid, pid_t parent, bool shares_memory);
    void adopt(const Target::Birth& birth, pid_t parent);
    void detach_born(Target::Sleepers sleepers);

    WaitHub& hub_;
    Members members_;
    std::uint64_t next_number_ = 1;
};

}  // namespace shadowprof
