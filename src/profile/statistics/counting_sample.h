// Counting samples: Gibbons and Matias, "New sampling-based summary statistics for improving
// approximate query answers", SIGMOD 1998, section 4.
//
// A value that is in the table is counted each time. One that is not is admitted with probability
// 1/τ. When the table overflows, τ is raised to τ' and every entry is treated as if τ' had been in
// force all the time: with probability τ/τ' it stays as it is; else it loses one, and then one more
// for each tails of a coin with heads 1/τ'. An entry that loses all leaves the table.
//
// At any moment the occurrences N that an entry missed before it was admitted are therefore
// geometric: P(N >= n) = q^n, q = 1 - 1/τ, cut off at the value's true count f. Hence:
//  - Estimate: count + τ - 1 for values in the table, 0 for others; τ - 1 is the paper's
//    compensation, and f is certainly not below the count alone. The estimate's expectation is
//    exactly f: E[min(N, f)] = (τ - 1)(1 - q^f), and the value is in the table with probability 1 -
//    q^f. (The paper's own, 0.418 τ - 1, minimises the error of values whose f is just τ, given
//    that they are in the table; it is biased for hot values, and those are what hotlists are for.)
//  - Error: f = count + N, so |estimate - f| <= e unless N > τ - 1 + e or N < τ - 1 - e. The
//    smallest n with q^n <= 0.05 is n = ⌈ln 0.05 / ln q⌉, about 3 τ. With e = max(n - τ, τ - 1) the
//    second case cannot happen and the first has at most 5%; a value being in the table only makes
//    large N rarer. So e is about 2 τ; it is 0 while τ = 1, when counts are exact. A value that is
//    absent was there at most n times, with the same probability.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "profile/kinds/values/hot_values.h"
#include "profile/kinds/values/hotlist.h"

namespace shadowprof {

template <typename Value>
class CountingSample {
  public:
    static constexpr std::size_t capacity = 32;
    // The factor by which τ grows. About one entry in ten is thinned at a time.
    static constexpr double threshold_step = 1.1;

    // Adds values of the stream, in their order. The result does not depend on how the stream is
    // cut into columns. Takes constant time per value, except for admitting and thinning, which
    // happen O(log n) times in a stream of n values.
    void add(std::span<const Value> column, Random& random) {
        executions_ += column.size();
        while (!column.empty()) {
            const auto group = column.first(std::min(group_size, column.size()));
            add_group(group, random);
            column = column.subspan(group.size());
        }
    }
    void add(const Value& value, Random& random) { add_repeated(value, 1, random); }
    // Adds the same value `times` times, as fast as once.
    void add_repeated(const Value& value, std::uint64_t times, Random& random) {
        executions_ += times;
        take(value, times, random);
    }

    std::uint64_t executions() const { return executions_; }
    double threshold() const { return threshold_; }

    ValueSummary<Value> summary() const {
        ValueSummary<Value> summary{{}, absent_error(), executions_, threshold_ - 1};
        for (std::size_t i = 0; i < hot_.size(); ++i) {
            const auto count = hot_.count(i) + (i == last_ ? last_times_ : 0);
            summary.top.push_back(
                {hot_.value(i), static_cast<double>(count) + summary.compensation, error_bound()});
        }
        sort_hottest_first(summary.top);
        return summary;
    }

    // The 95% bound on the count of a value that is not in the table.
    double absent_error() const {
        if (threshold_ <= 1) return 0;
        return std::ceil(std::log(0.05) / std::log1p(-1 / threshold_));
    }
    // Half the width of the 95% confidence interval of every estimate.
    double error_bound() const { return std::max(absent_error() - threshold_, threshold_ - 1); }

  private:
    // The number of values looked up at a time. A group with a value to admit is looked up again.
    static constexpr std::size_t group_size = 32;

    void add_group(std::span<const Value> group, Random& random) {
        if (std::all_of(group.begin() + 1, group.end(),
                        [&](const Value& value) { return value == group[0]; }))
            return take(group[0], group.size(), random);
        const std::uint64_t misses = hot_.add(group);
        if (misses <= skip_) {
            skip_ -= misses;
            return;
        }
        hot_.take_back(group);
        for (const Value& value : group) take(value, 1, random);
    }

    void take(const Value& value, std::uint64_t times, Random& random) {
        if (last_ != none && value == last_value_)
            last_times_ += times;
        else
            take_another(value, times, random);
    }

    void take_another(const Value& value, std::uint64_t times, Random& random) {
        while (times != 0) {
            if (const auto entry = hot_.find(value)) {
                count_last();
                last_ = *entry;
                last_value_ = value;
                last_times_ = times;
                return;
            }
            if (times <= skip_) {
                skip_ -= times;
                return;
            }
            times -= skip_ + 1;
            admit(value, random);
        }
    }
    void count_last() {
        if (last_ != none) hot_.add(last_, last_times_);
        last_times_ = 0;
    }

    void admit(const Value& value, Random& random) {
        hot_.insert(value);
        while (hot_.size() > capacity) raise_threshold(random);
        skip_ = random.tails_before_heads(threshold_);
    }

    void raise_threshold(Random& random) {
        count_last();
        last_ = none;
        const double old = threshold_;
        threshold_ *= threshold_step;
        hot_.thin([&]() -> std::uint64_t {
            if (random.coin(old / threshold_)) return 0;
            return 1 + random.tails_before_heads(threshold_);
        });
    }

    static constexpr std::size_t none = ~std::size_t{0};

    std::uint64_t executions_ = 0;
    std::uint64_t skip_ = 0;  // values not in the table until the next is admitted
    // The last value is cached: if it is repeated, no look-up is needed.
    std::size_t last_ = none;  // its entry
    Value last_value_{};
    std::uint64_t last_times_ = 0;  // not added to the entry yet
    HotValues<Value> hot_;
    double threshold_ = 1;  // τ
};

static_assert(Hotlist<CountingSample<std::uint64_t>, std::uint64_t>);
static_assert(Hotlist<CountingSample<WideValue>, WideValue>);

}  // namespace shadowprof
