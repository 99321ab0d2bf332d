// Adds up value profiles of the same instruction.
#include <algorithm>
#include <cmath>

#include "profile/kinds/values/hotlist.h"
#include "profile/kinds/values/invariance.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

// A bound on the count of values that a list does not name. The file holds the error e of the
// values that it names. For counting samples the bound n follows from e: e = n - τ and n = ln 20 /
// -ln q, so n <= 1.502 e + 1 for every τ.
double absent_error(const std::vector<TopValue>& top) {
    double error = 0;
    for (const TopValue& value : top) error = std::max(error, value.error);
    return error == 0 ? 0 : 1.502 * error + 1;
}

// A value in one list or in both.
struct Summand {
    const TopValue* value;
    double absent_error;  // bound of the list that does not name it
};

// Adds estimates of disjoint streams. Independent errors add up by squares, including the error for
// a value that a list does not name (profile/kinds/values/hotlist.h, add_summary).
std::vector<TopValue> add_tops(const std::vector<TopValue>& a, double absent_of_a,
                               const std::vector<TopValue>& b, double absent_of_b) {
    std::vector<Summand> all;
    for (const TopValue& value : a) all.push_back({&value, absent_of_b});
    for (const TopValue& value : b) all.push_back({&value, absent_of_a});
    std::stable_sort(all.begin(), all.end(), [](const Summand& x, const Summand& y) {
        return x.value->value < y.value->value;
    });
    std::vector<TopValue> sum;
    for (std::size_t i = 0; i < all.size(); ++i) {
        sum.push_back(*all[i].value);
        if (i + 1 < all.size() && all[i + 1].value->value == sum.back().value) {
            ++i;
            sum.back().count += all[i].value->count;
            sum.back().error = std::hypot(sum.back().error, all[i].value->error);
        } else {
            sum.back().error = std::hypot(sum.back().error, all[i].absent_error);
        }
    }
    std::sort(sum.begin(), sum.end(), [](const TopValue& x, const TopValue& y) {
        return x.count != y.count ? x.count > y.count : x.value < y.value;
    });
    return sum;
}

// Adds the fields that profiles of a site and of one of its callers share.
template <typename Values>
void add_counts(Values& sum, const Values& v) {
    const double absent_of_sum = sum.absent_error.value_or(absent_error(sum.top));
    const double absent_of_v = v.absent_error.value_or(absent_error(v.top));
    sum.compensation =
        compensation_of(sum.top, sum.compensation) + compensation_of(v.top, v.compensation);
    sum.top = add_tops(sum.top, absent_of_sum, v.top, absent_of_v);
    sum.absent_error = std::hypot(absent_of_sum, absent_of_v);
    sum.count += v.count;
}

}  // namespace

void add(CallerValues& sum, const CallerValues& v) {
    add_counts(sum, v);
}

void add(ValueProfile& sum, const ValueProfile& v) {
    sum.type = more_specific(sum.type, v.type);
    add_counts(sum, v);
    sum.top_tnv = add_tops(sum.top_tnv, 0, v.top_tnv, 0);
    sum.by_caller.insert(sum.by_caller.end(), v.by_caller.begin(), v.by_caller.end());
    join_and_sort(sum.by_caller);
}

}  // namespace shadowprof
