// Finds memory hazards, address patterns, misses of modelled caches and data streams in one
// emulator's references.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "profile/collect/record_plans.h"
#include "profile/collect/reference_sites.h"
#include "profile/kinds/addresses/address_patterns.h"
#include "profile/kinds/cache/cache_collector.h"
#include "profile/kinds/hazards/hazards.h"
#include "profile/kinds/streams/data_streams.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class ReferenceCollector {
  public:
    // Finds hazards and address patterns if a window is given, streams if limits are given, and
    // misses if caches are given.
    ReferenceCollector(const std::optional<ReorderWindow>& window,
                       const std::optional<StreamLimits>& limits,
                       const std::optional<CacheModel>& caches);

    ReferenceSites& sites() { return sites_; }
    // From now on everything counts `weight` times.
    void set_weight(std::uint32_t weight);

    // The next reference does not follow the last one: it is of another burst or another thread.
    void begin_burst();
    // Takes one record. `plan` must be a plan with references. `id` points to the word of its id;
    // its other words lie below that.
    void take(const RecordPlans& plans, const RecordPlan& plan, const std::uint64_t* id);

    // Counts the streams of all references taken.
    void finish();

    const HazardFinder& hazards() const { return hazards_; }
    const AddressPatterns& patterns() const { return patterns_; }
    const std::optional<DataStreams>& streams() const { return streams_; }
    const std::optional<CacheCollector>& cache() const { return cache_; }
    const std::vector<CodeLocation>& locations() const { return sites_.locations(); }
    // How often the instruction of a site was executed. Known only for instructions that refer to
    // memory.
    std::uint64_t executions(ReferenceSite site) const {
        return site < executions_.size() ? executions_[site] : 0;
    }
    // The number of instructions whose references were traced, not weighted.
    std::uint64_t instructions() const { return instructions_; }

  private:
    void take(const Reference& reference);
    void forget_stores_and_loads();

    ReferenceSites sites_;
    const bool finds_hazards_;
    HazardFinder hazards_;
    AddressPatterns patterns_;
    std::optional<DataStreams> streams_;
    std::optional<CacheCollector> cache_;
    std::vector<std::uint64_t> executions_;
    std::uint64_t weight_ = 1;
    std::uint64_t instructions_ = 0;
};

// Sums over the collectors of several emulators.
class ReferenceTotals {
  public:
    void add(const ReferenceCollector& collector);
    // Sets the profile's hazards, addresses, streams and cache accesses, scaled and hottest first,
    // and adds counters and notes.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    struct Load {
        std::uint64_t constant = 0, moved = 0, chased = 0;
        std::map<std::int64_t, std::uint64_t> strides;
    };

    void fill_streams(Profile& profile, const CountScale& scale) const;

    std::map<std::tuple<HazardKind, CodeLocation, CodeLocation>, std::uint64_t> hazards_;
    std::map<CodeLocation, std::uint64_t> executions_;
    std::map<CodeLocation, Load> loads_;
    std::uint64_t instructions_ = 0;
    std::uint64_t left_out_ = 0;
    // Streams of collectors, which all have the same limits.
    std::optional<StreamTable> streams_;
    StreamLimits stream_limits_;
    std::uint64_t stream_references_ = 0;
    CacheTotals cache_;
};

}  // namespace shadowprof
