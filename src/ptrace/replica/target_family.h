// A target and, where its forks are followed, every process that comes of it: each a Target of its
// own, found by its statuses, whichever comes first: the birth from the parent or a stop from the
// child.
//
// Not followed are processes that were there before an attach, and what CLONE_UNTRACED hides.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

#include "base/result.h"
#include "ptrace/target/target.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

class TargetFamily : public Relatives {
  public:
    struct Member {
        Target* target = nullptr;
        pid_t parent = 0;               // that bore it; 0: not known, or it is the first
        std::unique_ptr<Target> owned;  // all but the first
    };
    // In the order of birth. The first target is number 0.
    using Members = std::map<std::uint64_t, Member>;

    // Both must outlive it.
    TargetFamily(WaitHub& hub, Target& first);
    // Lets all but the first go.
    ~TargetFamily() override;

    // Deals with a status from the hub. False if it is of no process of the family.
    bool handle(const WaitEvent& event);
    // Takes in what was born in events that targets took themselves, in stops. The references to
    // members stay good.
    void adopt_births();

    Target* find_process(pid_t pid) const override;

    // Also those that have ended.
    const Members& members() const { return members_; }
    // Needs the number of a process that has ended or is detached, and is not the first.
    void forget(std::uint64_t number) { members_.erase(number); }

    // Ends the tracing of all, those first that were born last. The answer is the first target's.
    Result<void> detach(Target::Sleepers sleepers);

  private:
    Target* find_owner(pid_t tid) const;
    Target* take_in(const WaitEvent& event);
    Target& adopt(pid_t pid, pid_t parent, bool shares_memory);
    void adopt(const Target::Birth& birth, pid_t parent);
    void detach_born(Target::Sleepers sleepers);

    WaitHub& hub_;
    Members members_;
    std::uint64_t next_number_ = 1;
};

}  // namespace shadowprof
