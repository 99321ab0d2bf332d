// The profile of a run while it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "profile/block_registry.h"
#include "profile/module_table.h"
#include "profile/profile.h"
#include "profile/sample_collector.h"

namespace shadowprof {

// What the collectors of a run share. May be used by several threads.
class ProcessProfile {
  public:
    explicit ProcessProfile(const CollectorOptions& options, ModuleTable& modules);

    // A collector for one emulator, to be used by one thread. Lives as long as this.
    SampleCollector& add_collector();

    // Sets modules, edges, paths, stacks, calls and values of `profile`, hottest first, and adds
    // counters to its sampling and notes. May be called while samples are taken, and again.
    void fill(Profile& profile);

    // Proves the invariants of FlowTotals. ErrorCode::invalid names what does not hold. Needs that
    // no sample is being taken.
    Result<void> check();

  private:
    ValueTotals gather();

    const CollectorOptions options_;
    ModuleTable& modules_;
    BlockRegistry registry_;
    SharedTotals totals_;
    std::mutex mutex_;  // of the list
    std::vector<std::unique_ptr<SampleCollector>> collectors_;
};

}  // namespace shadowprof
