#include "profile/accuracy/accuracy_values.h"

#include <cmath>
#include <map>
#include <tuple>

#include "profile/kinds/values/invariance.h"
#include "profile/kinds/values/run_values.h"

namespace shadowprof {
namespace {

using Operand = std::tuple<CodeLocation, std::string, std::uint32_t>;

bool has(const ValueProfile& profile, const std::vector<std::byte>& value) {
    return std::any_of(profile.top.begin(), profile.top.end(),
                       [&](const TopValue& top) { return top.value == value; });
}

// The share of the instruction's executions that produced `value`.
double share_of(const ValueProfile& profile, const std::vector<std::byte>& value) {
    for (const TopValue& top : profile.top)
        if (top.value == value)
            return std::min(1.0,
                            static_cast<double>(top.count) / static_cast<double>(profile.count));
    return 0;
}

// The share of the most frequent value. If no invariance is stated, the estimate is mostly
// compensation, so only what was counted is taken.
double own_share(const ValueProfile& profile) {
    if (profile.invariance) return profile.invariance->share;
    if (profile.top.empty()) return 0;
    const double counted = static_cast<double>(profile.top.front().count) -
                           compensation_of(profile.top, profile.compensation);
    return std::clamp(counted / static_cast<double>(profile.count), 0.0, 1.0);
}

// Whether the most frequent value of each profile belongs to its own run.
bool are_of_the_runs(const ValueProfile& full, const ValueProfile& sampled) {
    const auto top_is = [](const ValueProfile& profile) {
        return !profile.top.empty() && is_of_the_run(profile.top.front().value, profile.type);
    };
    return top_is(full) && top_is(sampled) && !has(sampled, full.top.front().value);
}

class MeanDifference {
  public:
    void add(AccuracyEntry entry, double full, double sampled, double executions) {
        entry.full = full;
        entry.sampled = sampled;
        entry.distance = std::abs(full - sampled) * executions;
        sum_ += entry.distance;
        executions_ += executions;
        entries_.push_back(std::move(entry));
    }
    AccuracyMetric metric(std::size_t most) && {
        if (executions_ <= 0) return left_out("no instruction has values in both profiles");
        AccuracyMetric metric;
        metric.value = sum_ / executions_;
        metric.entries = entries_.size();
        for (AccuracyEntry& entry : entries_) entry.distance /= executions_;
        keep_worst(metric, std::move(entries_), most);
        return metric;
    }

  private:
    std::vector<AccuracyEntry> entries_;
    double sum_ = 0, executions_ = 0;
};

using SampledValues = std::map<Operand, const ValueProfile*>;

SampledValues values_by_operand(const AccuracyView& sampled) {
    SampledValues seen;
    for (const ValueProfile& v : sampled.profile.values)
        if (v.count != 0) seen.emplace(Operand{sampled.common(v.at), v.operand, v.width_bytes}, &v);
    return seen;
}

}  // namespace

void measure_values(Accuracy& accuracy, const AccuracyView& full, const AccuracyView& sampled,
                    std::size_t most) {
    accuracy.values = accuracy.invariances = left_out(missing<ValueList>(full, sampled));
    if (!accuracy.values.missing.empty()) return;
    const SampledValues seen = values_by_operand(sampled);
    double weight = 0, covered = 0;
    MeanDifference of_values, of_invariances;
    for (const ValueProfile& v : full.profile.values) {
        if (v.count == 0 || v.top.empty()) continue;
        const auto executions = static_cast<double>(v.count);
        weight += executions;
        const CodeLocation at = full.common(v.at);
        const auto found = seen.find(Operand{at, v.operand, v.width_bytes});
        if (found == seen.end()) continue;
        covered += executions;
        const ValueProfile& other = *found->second;
        const bool own = are_of_the_runs(v, other);
        accuracy.values_of_the_run += own;
        const auto& top = v.top.front().value;
        const AccuracyEntry entry{.at = {at}, .what = v.operand};
        of_values.add(entry, share_of(v, top), share_of(other, own ? other.top.front().value : top),
                      executions);
        of_invariances.add(entry, own_share(v), own_share(other), executions);
    }
    accuracy.values_covered = weight > 0 ? covered / weight : 0;
    accuracy.values = std::move(of_values).metric(most);
    accuracy.invariances = std::move(of_invariances).metric(most);
}

}  // namespace shadowprof
