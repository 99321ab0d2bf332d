// Subtracts the values in an earlier profile of the same run.
#include <algorithm>
#include <cmath>

#include "profile/kinds/difference.h"
#include "profile/kinds/values/value_profile.h"

namespace shadowprof {
namespace {

double largest_error(const std::vector<TopValue>& top) {
    double largest = 0;
    for (const TopValue& each : top) largest = std::max(largest, each.error);
    return largest;
}

// A bound on the count of a value that the list does not name.
template <typename Values>
double absent_error(const Values& values) {
    return values.absent_error.value_or(largest_error(values.top));
}

template <typename Values>
void subtract_common(Values& values, const Values& earlier) {
    const double absent = std::hypot(absent_error(values), absent_error(earlier));
    subtract(values.count, earlier.count);
    subtract_top(values.top, earlier.top, absent_error(earlier));
    for (TopValue& each : values.top) each.count = std::min(each.count, values.count);
    values.absent_error = absent;
}

}  // namespace

// Called by subtract_list().
static void subtract(CallerValues& values, const CallerValues& earlier) {
    subtract_common(values, earlier);
}
static void subtract(ValueProfile& values, const ValueProfile& earlier) {
    subtract_common(values, earlier);
    subtract_list(values.by_caller, earlier.by_caller);
}

void subtract_values(std::vector<ValueProfile>& values, const std::vector<ValueProfile>& earlier) {
    subtract_list(values, earlier);
    for (ValueProfile& each : values) each.top_tnv.clear();
}

}  // namespace shadowprof
