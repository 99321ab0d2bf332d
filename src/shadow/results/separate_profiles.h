// A profile for each process of an exact run.
#pragma once

#include <functional>
#include <map>

#include "shadow/exact/process_profiles.h"
#include "shadow/request/run_hooks.h"
#include "shadow/results/profile_parts.h"
#include "shadow/results/profiling.h"

namespace shadowprof {

class SeparateProfiles final : public ProcessProfiles {
  public:
    // Both must outlive it. `hooks.on_process_end` must not be empty.
    SeparateProfiles(Profiling& profiling, const RunHooks& hooks)
        : profiling_(profiling), hooks_(hooks) {}

    OfProcess begin(std::uint64_t number, pid_t pid) override;
    bool are_separate() const override { return true; }
    void end(std::uint64_t number, Profile profile) override;

  private:
    struct Separate {
        std::unique_ptr<ProcessProfile> collected;
        std::unique_ptr<ProfileParts> parts;
    };

    Profiling& profiling_;
    const RunHooks& hooks_;
    std::map<std::uint64_t, Separate> separate_;
};

}  // namespace shadowprof
