// Counts the accesses to memory in one emulator's references, and what the modelled caches miss.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "profile/collect/reference.h"
#include "profile/kinds/cache/caches.h"
#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class CacheCollector {
  public:
    explicit CacheCollector(const CacheModel& model) : model_(model), caches_(model) {}

    // Takes a reference that has bytes, which counts `weight` times.
    void take(const Reference& reference, std::uint64_t weight);

  private:
    friend class CacheTotals;

    struct Counts {
        CacheCounts all, stores;  // `stores`: the accesses that only write
    };

    CacheModel model_;
    Caches caches_;
    std::vector<Counts> counts_;  // by site
    std::uint64_t repeated_ = 0;  // repeated string operations
};

// Sums over the collectors of several emulators, which all have the same model.
class CacheTotals {
  public:
    void add(const CacheCollector& collector, const std::vector<CodeLocation>& locations);
    // Sets the profile's accesses, scaled and those first that miss most, the model and the
    // counters `cache_accesses`, `cache_l1_misses`, `cache_l2_misses` and `cache_l3_misses`. Adds a
    // note if there were accesses that no reference tells of.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    std::optional<CacheModel> model_;
    std::map<CodeLocation, CacheCollector::Counts> counts_;
    std::uint64_t repeated_ = 0;
};

}  // namespace shadowprof
