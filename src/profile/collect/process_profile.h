// The profile of a run while it is made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "profile/code/block_registry.h"
#include "profile/code/module_table.h"
#include "profile/collect/sample_collector.h"
#include "profile/kinds/clock/clock_weights.h"
#include "profile/profile.h"

namespace shadowprof {

// What the collectors of a run share. May be used by several threads.
class ProcessProfile {
  public:
    explicit ProcessProfile(const CollectorOptions& options, ModuleTable& modules);

    // A collector for one emulator, to be used by one thread. Lives as long as this.
    SampleCollector& add_collector();

    // Sets modules, edges, paths, stacks, calls, values, probes and, where references are
    // collected, hazards, addresses and streams of `profile`, hottest first, and adds counters to
    // its sampling and notes. May be called while samples are taken, and again. If any sample had
    // bursts, all of them must have, or their edges, paths and calls are left out. With
    // CollectorOptions::weighs_by_clock, samples weigh by the ticks that the profile has already.
    void fill(Profile& profile);

    // The same of a phase's end: counts are those of the whole run so far, as phase_between() needs
    // them, but errors are of what the phase has of them. The next phase begins.
    void fill_at_end_of_phase(Profile& profile);
    // Counts of profiles are scaled by it from now on, whatever comes.
    void fix_scale(const CountScale& scale);

    // The burst counts of the samples with bursts.
    BurstCounts burst_counts();

    // The largest error, relative to its edge's count, of the hottest edges: those that together
    // make up half of all counts, but no more than 100; in bursts, if samples have them. Of the
    // samples that were folded so far. Nothing if there are fewer batches than these, or too few to
    // know, while a profile is being filled, or where samples are held (weighs_by_clock). Takes
    // time that grows with the number of edges. May be called while samples are taken.
    std::optional<double> edge_errors(std::uint64_t least_batches) const;

    // Proves the invariants of FlowTotals, and that bursts hold no more than there was.
    // ErrorCode::invalid names what does not hold. Needs that
    // no sample is being taken.
    Result<void> check();

  private:
    // By the kernel's clock.
    struct ClockTime {
        std::map<SampleOrigin::Function, std::uint64_t> ticks;
        double ns_per_tick = 0;
    };
    // What is not among the totals.
    struct Gathered {
        ValueTotals values;
        ReferenceTotals references;
        SystemCallTotals system_calls;
        std::vector<ProbeProfile> probes;
    };
    Gathered gather();
    ClockTime clock_time(const Profile& profile) const;
    std::vector<SampleCollector*> collectors();
    void fill(Profile& profile, ErrorsOf errors);
    SampleOrigin::Function function_at(CodeLocation at) const;
    void fill_with_held(Profile& profile, const ClockTime& clock) const;

    const CollectorOptions options_;
    ModuleTable& modules_;
    BlockRegistry registry_;
    mutable SharedTotals totals_;
    std::mutex mutex_;  // of the list and the scale
    std::optional<CountScale> fixed_scale_;
    std::vector<std::unique_ptr<SampleCollector>> collectors_;
};

}  // namespace shadowprof
