#include "profile/kinds/cache/cache_collector.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/merge/join.h"

namespace shadowprof {

void CacheCollector::take(const Reference& reference, std::uint64_t weight) {
    if (reference.site >= counts_.size())
        counts_.resize(std::max<std::size_t>(reference.site + std::size_t{1}, 2 * counts_.size()));
    const std::size_t missed = caches_.access(reference.address, reference.bytes);
    // What reaches memory misses in the levels that the model lacks.
    const std::size_t levels = missed == model_.levels.size() ? 3 : missed;
    Counts& counts = counts_[reference.site];
    counts.accesses += weight;
    if (levels >= 1) counts.l1_misses += weight;
    if (levels >= 2) counts.l2_misses += weight;
    if (levels >= 3) counts.l3_misses += weight;
    if (reference.is(ReferenceSlot::repeated)) repeated_ += weight;
}

void CacheTotals::add(const CacheCollector& collector, const std::vector<CodeLocation>& locations) {
    model_ = collector.model_;
    repeated_ += collector.repeated_;
    const auto sites = std::min(locations.size(), collector.counts_.size());
    for (std::size_t site = 0; site < sites; ++site) {
        const auto& counts = collector.counts_[site];
        if (counts.accesses == 0) continue;
        auto& sum = counts_[locations[site]];
        sum.accesses += counts.accesses;
        sum.l1_misses += counts.l1_misses;
        sum.l2_misses += counts.l2_misses;
        sum.l3_misses += counts.l3_misses;
    }
}

void CacheTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.cache.clear();
    profile.cache_model = model_;
    if (!model_) return;
    CacheCollector::Counts all;
    for (const auto& [at, counts] : counts_) {
        profile.cache.push_back({.at = at,
                                 .accesses = scale(counts.accesses),
                                 .l1_misses = scale(counts.l1_misses),
                                 .l2_misses = scale(counts.l2_misses),
                                 .l3_misses = scale(counts.l3_misses)});
        all.accesses += counts.accesses;
        all.l1_misses += counts.l1_misses;
        all.l2_misses += counts.l2_misses;
        all.l3_misses += counts.l3_misses;
    }
    join_and_sort(profile.cache);
    auto& counters = profile.sampling.counters;
    counters["cache_accesses"] = scale(all.accesses);
    counters["cache_l1_misses"] = scale(all.l1_misses);
    counters["cache_l2_misses"] = scale(all.l2_misses);
    counters["cache_l3_misses"] = scale(all.l3_misses);
    if (repeated_ != 0)
        profile.notes.push_back(
            fmt::format("cache: of {} repeated string operations only the first accesses are "
                        "modelled",
                        scale(repeated_)));
}

}  // namespace shadowprof
