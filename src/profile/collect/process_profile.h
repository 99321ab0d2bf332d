// The profile of a run while it is being collected.
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
#include "profile/kinds/times/time_weights.h"
#include "profile/profile.h"

namespace shadowprof {

// What the collectors of a run share. Thread-safe.
class ProcessProfile {
  public:
    explicit ProcessProfile(const CollectorOptions& options, ModuleTable& modules);

    // Returns a collector for one emulator, to be used by one thread. It lives as long as this.
    SampleCollector& add_collector();

    // Sets the modules, edges, paths, stacks, calls, values and probes of `profile` and, where
    // references are collected, its hazards, addresses and streams, all hottest first. Adds
    // counters to its sampling, and notes. May be called repeatedly and while samples are taken. If
    // any sample had bursts, all must have them, or edges, paths and calls are left out. With
    // CollectorOptions::weighs_by_time, samples are weighed by the times already in the profile.
    // Its looked-at stacks become times of stacks.
    void fill(Profile& profile);

    // Fills the profile at the end of a phase and begins the next phase. Counts are those of the
    // whole run so far, as phase_between() needs them, but errors are those of the phase.
    void fill_at_end_of_phase(Profile& profile);
    // From now on the counts of profiles are scaled by `scale`, whatever is counted later.
    void fix_scale(const CountScale& scale);

    // The counts of bursts, over the samples with bursts.
    BurstCounts burst_counts();

    // Returns the largest relative error among the hottest edges: those that together make up half
    // of all counts, at most 100. Uses the samples folded so far, and counts in bursts if samples
    // have them. Returns nothing if there are fewer than `min_batches` batches or too few to
    // know, while a profile is being filled, or where samples are held (weighs_by_time). Takes
    // time linear in the number of edges. May be called while samples are taken.
    std::optional<double> edge_errors(std::uint64_t min_batches) const;

    // Checks the invariants of FlowTotals, and that bursts count no more than the totals. Errors:
    // ErrorCode::invalid, which names what does not hold. Needs that no sample is being taken.
    Result<void> check();

  private:
    // The looks at threads in the program.
    struct KnownTime {
        std::map<SampleOrigin::Function, std::uint64_t> looks;
        double ns_per_look = 0;
    };
    // What is not in the shared totals.
    struct Gathered {
        ValueTotals values;
        ReferenceTotals references;
        SystemCallTotals system_calls;
        AllocationTotals allocations;
        BranchTotals branches;
        CallCostTotals call_costs;
        std::vector<ProbeProfile> probes;
    };
    Gathered gather();
    KnownTime known_time(const Profile& profile) const;
    std::vector<SampleCollector*> collectors();
    void fill(Profile& profile, ErrorsOf errors);
    SampleOrigin::Function function_at(CodeLocation at) const;
    void fill_with_held(Profile& profile, const KnownTime& times) const;
    std::vector<Stack> looked_stacks(Profile& profile) const;

    const CollectorOptions options_;
    ModuleTable& modules_;
    BlockRegistry registry_;
    mutable SharedTotals totals_;
    std::mutex mutex_;  // guards the list and the scale
    std::optional<CountScale> fixed_scale_;
    std::vector<std::unique_ptr<SampleCollector>> collectors_;
};

}  // namespace shadowprof
