#include "profile/reference_collector.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/join.h"

namespace shadowprof {

void ReferenceCollector::begin_burst() {
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
            if (reference.bytes != 0 && reference.begins) executions_[reference.site] += weight_;
            hazards_.take(reference, weight_);
            patterns_.take(reference, weight_);
        }
        instructions_ += block.instructions;
        if (block.enters_kernel) begin_burst();
    }
}

void ReferenceTotals::add(const ReferenceCollector& collector) {
    const auto& locations = collector.locations();
    for (const auto& pair : collector.hazards().pairs()) {
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
        profile.notes.push_back(fmt::format("more than {} hazards: {} executions are left out",
                                            HazardFinder::most_pairs, scale(left_out_)));
}

}  // namespace shadowprof
