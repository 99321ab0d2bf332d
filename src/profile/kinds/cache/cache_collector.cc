#include "profile/kinds/cache/cache_collector.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/merge/join.h"

namespace shadowprof {
namespace {

CacheCounts scaled(const CacheCounts& counts, const CountScale& scale) {
    return {scale(counts.accesses), scale(counts.l1_misses), scale(counts.l2_misses),
            scale(counts.l3_misses)};
}

}  // namespace

void CacheCollector::take(const Reference& reference, std::uint64_t weight) {
    if (reference.site >= counts_.size())
        counts_.resize(std::max<std::size_t>(reference.site + std::size_t{1}, 2 * counts_.size()));
    const std::size_t missed = caches_.access(reference.address, reference.bytes);
    // What reaches memory misses in the levels that the model lacks.
    const std::size_t levels = missed == model_.levels.size() ? 3 : missed;
    const CacheCounts counted{.accesses = weight,
                              .l1_misses = levels >= 1 ? weight : 0,
                              .l2_misses = levels >= 2 ? weight : 0,
                              .l3_misses = levels >= 3 ? weight : 0};
    Counts& counts = counts_[reference.site];
    shadowprof::add(counts.all, counted);
    if (!reference.is(ReferenceSlot::load)) shadowprof::add(counts.stores, counted);
    if (reference.is(ReferenceSlot::repeated)) repeated_ += weight;
}

void CacheTotals::add(const CacheCollector& collector, const std::vector<CodeLocation>& locations) {
    model_ = collector.model_;
    repeated_ += collector.repeated_;
    const auto sites = std::min(locations.size(), collector.counts_.size());
    for (std::size_t site = 0; site < sites; ++site) {
        const auto& counts = collector.counts_[site];
        if (counts.all.accesses == 0) continue;
        auto& sum = counts_[locations[site]];
        shadowprof::add(sum.all, counts.all);
        shadowprof::add(sum.stores, counts.stores);
    }
}

void CacheTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.cache.clear();
    profile.cache_model = model_;
    if (!model_) return;
    CacheCounts all;
    for (const auto& [at, counts] : counts_) {
        profile.cache.push_back({.at = at,
                                 .accesses = scale(counts.all.accesses),
                                 .l1_misses = scale(counts.all.l1_misses),
                                 .l2_misses = scale(counts.all.l2_misses),
                                 .l3_misses = scale(counts.all.l3_misses),
                                 .stores = scaled(counts.stores, scale)});
        shadowprof::add(all, counts.all);
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
