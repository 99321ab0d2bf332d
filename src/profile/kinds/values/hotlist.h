// Hotlists: constant-space summaries of the most frequent values of a stream.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profile/statistics/random.h"

namespace shadowprof {

// A vector register's value, zero-padded.
using WideValue = std::array<std::uint64_t, 8>;

// The estimated count of a value in the stream.
template <typename Value>
struct ValueEstimate {
    Value value{};
    double count = 0;
    double error = 0;  // half the width of the 95% confidence interval; 0 if unknown
};

// A hotlist's summary of its stream.
template <typename Value>
struct ValueSummary {
    std::vector<ValueEstimate<Value>> top;  // hottest first
    double absent_error = 0;  // 95% bound on the count of a value that is not in `top`
    std::uint64_t executions = 0;
    // An upper limit for the part of each estimate in `top` that was assumed and not counted.
    double compensation = 0;
};

// Rounds an estimate to a count. Estimates from a file may have any value.
inline std::uint64_t rounded_count(double estimate) {
    if (!(estimate > 0)) return 0;
    return estimate < 0x1p63 ? static_cast<std::uint64_t>(std::llround(estimate))
                             : std::uint64_t{1} << 63;
}

// The interface that CountingSample and TnvTable share.
template <typename H, typename Value>
concept Hotlist = requires(H hotlist, const H& seen, const Value& value, Random& random) {
    hotlist.add(value, random);
    { seen.summary() } -> std::same_as<ValueSummary<Value>>;
};

template <typename Value>
void sort_hottest_first(std::vector<ValueEstimate<Value>>& estimates) {
    std::sort(estimates.begin(), estimates.end(), [](const auto& a, const auto& b) {
        return a.count != b.count ? a.count > b.count : a.value < b.value;
    });
}

// Adds the summary of a disjoint stream. Unbiased estimates add up to an unbiased one. Independent
// errors add up by squares, which keeps the 95%: the error of one counting sample is a geometric
// variable, and sums of such variables have lighter tails at the same standard deviation.
template <typename Value>
void add_summary(ValueSummary<Value>& sum, const ValueSummary<Value>& more) {
    using Estimate = ValueEstimate<Value>;
    std::vector<Estimate> joined;
    for (const Estimate& a : sum.top) {
        auto b = std::find_if(more.top.begin(), more.top.end(),
                              [&](const Estimate& e) { return e.value == a.value; });
        if (b == more.top.end())
            joined.push_back({a.value, a.count, std::hypot(a.error, more.absent_error)});
        else
            joined.push_back({a.value, a.count + b->count, std::hypot(a.error, b->error)});
    }
    for (const Estimate& b : more.top) {
        auto same = [&](const Estimate& e) { return e.value == b.value; };
        if (std::none_of(sum.top.begin(), sum.top.end(), same))
            joined.push_back({b.value, b.count, std::hypot(b.error, sum.absent_error)});
    }
    sort_hottest_first(joined);
    sum.top = std::move(joined);
    sum.absent_error = std::hypot(sum.absent_error, more.absent_error);
    sum.executions += more.executions;
    sum.compensation += more.compensation;
}

}  // namespace shadowprof
