// The profiles that the processes of an exact run are counted in.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "profile/collect/process_profile.h"
#include "profile/profile.h"
#include "shadow/exact/counted_regions.h"

namespace shadowprof {

class ProcessProfiles {
  public:
    virtual ~ProcessProfiles() = default;

    // What a process is counted in.
    struct OfProcess {
        ProcessProfile& collected;
        PartTaker& parts;
    };
    // For a process that begins. `number` is its alone (ProcessLog).
    virtual OfProcess begin(std::uint64_t number, pid_t pid) = 0;
    // Whether each process has its own.
    virtual bool are_separate() const = 0;
    // If they are separate: the process is followed no longer. `profile` has all that is known of
    // it but what was collected. Ends what begin() has returned.
    virtual void end(std::uint64_t number, Profile profile) = 0;
};

// All processes are counted in one profile.
class SharedProfile final : public ProcessProfiles {
  public:
    // Both must outlive it.
    SharedProfile(ProcessProfile& collected, PartTaker& parts) : shared_{collected, parts} {}

    OfProcess begin(std::uint64_t, pid_t) override { return shared_; }
    bool are_separate() const override { return false; }
    void end(std::uint64_t, Profile) override {}

  private:
    const OfProcess shared_;
};

}  // namespace shadowprof
