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
//  - Estimate: count + τ - 1 for values in the table, 0 for others. Its expectation is exactly f:
//    E[min(N, f)] = (τ - 1)(1 - q^f), and the value is in the table with probability 1 - q^f.
//    (The paper's compensation 0.418 τ - 1 minimises the error of values whose f is just τ, given
//    that they are in the table; it is biased for hot values, and those are what hotlists are for.)
//  - Error: f = count + N, so |estimate - f| <= e unless N > τ - 1 + e or N < τ - 1 - e. The
//    smallest n with q^n <= 0.05 is n = ⌈ln 0.05 / ln q⌉, about 3 τ. With e = max(n - τ, τ - 1) the
//    second case cannot happen and the first has at most 5%; a value being in the table only makes
//    large N rarer. So e is about 2 τ; it is 0 while τ = 1, when counts are exact. A value that is
//    absent was there at most n times, with the same probability.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "profile/hotlist.h"

namespace shadowprof {

template <typename Value>
class CountingSample {
  public:
    static constexpr std::size_t capacity = 32;
    // τ grows by this factor: about one entry in ten is thinned at a time.
    static constexpr double threshold_step = 1.1;

    // Constant time, but for growing and thinning, which a stream of n values causes O(log n)
    // times.
    void add(const Value& value, Random& random) {
        ++executions_;
        if (!slots_.empty()) {
            std::size_t at = last_;
            if (slots_[at].value != value) at = find(value);
            if (slots_[at].count != 0) {
                last_ = static_cast<std::uint32_t>(at);
                ++slots_[at].count;
                return;
            }
        }
        if (skip_ != 0)
            --skip_;
        else
            admit(value, random);
    }

    std::uint64_t executions() const { return executions_; }
    double threshold() const { return threshold_; }

    ValueSummary<Value> summary() const {
        ValueSummary<Value> summary{{}, absent_error(), executions_};
        for (const Slot& slot : slots_)
            if (slot.count != 0)
                summary.top.push_back(
                    {slot.value, static_cast<double>(slot.count) + threshold_ - 1, error_bound()});
        sort_hottest_first(summary.top);
        return summary;
    }

    // The count that a value which is not in the table has at most, with a probability of 95%.
    double absent_error() const {
        if (threshold_ <= 1) return 0;
        return std::ceil(std::log(0.05) / std::log1p(-1 / threshold_));
    }
    // Half the width of the 95% confidence interval of every estimate.
    double error_bound() const { return std::max(absent_error() - threshold_, threshold_ - 1); }

  private:
    struct Slot {
        Value value{};
        std::uint64_t count = 0;  // 0: the slot is free
    };

    // The slot of the value, or the free one where it belongs. Needs slots.
    std::size_t find(const Value& value) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = value_hash(value) >> 32 & mask;
        while (slots_[at].count != 0 && slots_[at].value != value) at = (at + 1) & mask;
        return at;
    }

    void rebuild(std::size_t size) {
        std::vector<Slot> old(size);
        old.swap(slots_);
        used_ = 0;
        last_ = 0;
        for (const Slot& slot : old) {
            if (slot.count == 0) continue;
            slots_[find(slot.value)] = slot;
            ++used_;
        }
    }

    void admit(const Value& value, Random& random) {
        if (4 * (used_ + 1) > 3 * slots_.size())
            rebuild(std::max<std::size_t>(8, 2 * slots_.size()));
        slots_[find(value)] = {value, 1};
        ++used_;
        while (used_ > capacity) raise_threshold(random);
        skip_ = random.tails_before_heads(threshold_);
    }

    void raise_threshold(Random& random) {
        const double old = threshold_;
        threshold_ *= threshold_step;
        for (Slot& slot : slots_) {
            if (slot.count == 0 || random.coin(old / threshold_)) continue;
            const std::uint64_t loss = 1 + random.tails_before_heads(threshold_);
            slot.count -= std::min(slot.count, loss);
        }
        rebuild(slots_.size());
    }

    std::vector<Slot> slots_;  // open addressing, at most 3/4 full
    std::uint32_t last_ = 0;   // slot that was hit last
    std::uint32_t used_ = 0;
    std::uint64_t skip_ = 0;  // values outside the table until the next is admitted
    std::uint64_t executions_ = 0;
    double threshold_ = 1;  // τ
};

static_assert(Hotlist<CountingSample<std::uint64_t>, std::uint64_t>);
static_assert(Hotlist<CountingSample<WideValue>, WideValue>);

}  // namespace shadowprof
