#include "profile/collect/reference_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/numbered.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

// If few references were traced, chance repetitions have a considerable share of the heat.
constexpr std::uint64_t min_stream_occurrences = 5;

}  // namespace

ReferenceCollector::ReferenceCollector(const std::optional<ReorderWindow>& window,
                                       const std::optional<StreamLimits>& limits,
                                       const std::optional<CacheModel>& caches)
    : finds_hazards_(window.has_value()), hazards_(window.value_or(ReorderWindow{})) {
    if (limits) streams_.emplace(*limits);
    if (caches) cache_.emplace(*caches);
}

void ReferenceCollector::set_weight(std::uint32_t weight) {
    weight_ = weight;
    if (streams_) streams_->set_weight(weight);
}

void ReferenceCollector::finish() {
    if (streams_) streams_->finish();
}

void ReferenceCollector::begin_burst() {
    forget_stores_and_loads();
    if (streams_) streams_->begin_burst();
}

void ReferenceCollector::forget_stores_and_loads() {
    hazards_.forget();
    patterns_.forget();
}

void ReferenceCollector::take(const RecordPlans& plans, const RecordPlan& plan,
                              const std::uint64_t* id) {
    if (executions_.size() < sites_.locations().size())
        executions_.resize(sites_.locations().size());
    for (const auto& block : plans.valued_blocks(plan)) {
        const auto* above = id - block.words_before;
        for (const ReferencePlan& row : plans.references(block)) {
            Reference reference = row.reference;
            if (row.word != 0) reference.address += above[-std::ptrdiff_t{row.word}];
            reference.instruction += instructions_;
            take(reference);
        }
        instructions_ += block.instructions;
        if (block.enters_kernel) forget_stores_and_loads();
    }
}

void ReferenceCollector::take(const Reference& reference) {
    const bool is_access = reference.bytes != 0;
    if (is_access && reference.begins) executions_[reference.site] += weight_;
    if (finds_hazards_) {
        hazards_.take(reference, weight_);
        patterns_.take(reference, weight_);
    }
    if (cache_ && is_access) cache_->take(reference, weight_);
    if (streams_ && is_access) streams_->take(reference, sites_.locations()[reference.site]);
}

void ReferenceTotals::add(const ReferenceCollector& collector) {
    const auto& locations = collector.locations();
    for (const auto& pair : collector.hazards().pairs()) {
        if (pair.count == 0) continue;
        const auto first = locations[pair.first], second = locations[pair.second];
        hazards_[{pair.kind, first, second}] += pair.count;
    }
    for (ReferenceSite site = 0; site < locations.size(); ++site)
        if (const auto count = collector.executions(site)) executions_[locations[site]] += count;
    for (const auto& load : collector.patterns().loads()) {
        Load& sum = loads_[locations[load.site]];
        sum.constant += load.constant;
        sum.moved += load.moved;
        sum.chased += load.chased;
        for (const auto& [stride, count] : load.strides.all())
            if (count != 0) sum.strides[stride] += count;
    }
    instructions_ += collector.instructions();
    left_out_ += collector.hazards().left_out();
    if (const auto& cache = collector.cache()) cache_.add(*cache, locations);
    if (const auto& streams = collector.streams()) {
        if (!streams_) streams_.emplace(streams->limits());
        stream_limits_ = streams->limits();
        streams_->add(streams->table());
        stream_references_ += streams->references();
    }
}

void ReferenceTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.hazards.clear();
    profile.addresses.clear();
    for (const auto& [hazard, count] : hazards_) {
        const auto& [kind, first, second] = hazard;
        const auto executed = executions_.find(second);
        profile.hazards.push_back(
            {.kind = kind,
             .first = first,
             .second = second,
             .count = scale(count),
             .executions = scale(executed == executions_.end() ? 0 : executed->second)});
    }
    for (const auto& [at, load] : loads_) {
        if (load.constant + load.moved == 0) continue;
        StrideCounts::Entry most;
        for (const auto& [stride, count] : load.strides)
            if (count > most.count) most = {stride, count};
        most.count = scale(most.count);
        profile.addresses.push_back(
            {at, address_moves(scale(load.constant), scale(load.moved), scale(load.chased), most)});
    }
    join_and_sort(profile.hazards);
    join_and_sort(profile.addresses);
    profile.sampling.counters["reference_instructions"] = instructions_;
    if (left_out_ != 0)
        profile.notes.push_back(fmt::format("only {} hazards are kept: {} of others left out",
                                            HazardFinder::max_pairs,
                                            numbered(scale(left_out_), "execution")));
    fill_streams(profile, scale);
    cache_.fill(profile, scale);
}

void ReferenceTotals::fill_streams(Profile& profile, const CountScale& scale) const {
    profile.streams.clear();
    if (!streams_) return;
    StreamTable table = *streams_;
    const auto min_heat = static_cast<std::uint64_t>(
        std::ceil(stream_limits_.min_heat_percent / 100 * static_cast<double>(stream_references_)));
    profile.streams =
        table.take_streams(std::max(min_heat, std::uint64_t{1}), min_stream_occurrences);
    for (DataStream& stream : profile.streams) stream.occurrences = scale(stream.occurrences);
    join_and_sort(profile.streams);
    profile.sampling.counters["stream_references"] = scale(stream_references_);
    if (streams_->left_out() != 0)
        profile.notes.push_back(
            fmt::format("streams: {} of {} references were in sequences that were too rare to keep",
                        scale(streams_->left_out()), scale(stream_references_)));
}

}  // namespace shadowprof
