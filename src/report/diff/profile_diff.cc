#include "report/diff/profile_diff.h"

#include <cmath>
#include <limits>

namespace shadowprof {

std::string_view name(DiffKind kind) {
    constexpr std::string_view names[] = {"functions", "entries",   "edges",    "paths",
                                          "values",    "levels",    "loads",    "mispredictions",
                                          "l1_misses", "l2_misses", "l3_misses"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view name(DiffUnit unit) {
    constexpr std::string_view names[] = {"instructions", "executions", "share",
                                          "cycles",       "accesses",   "bytes"};
    return names[static_cast<std::size_t>(unit)];
}

std::string_view name(Judgement judgement) {
    constexpr std::string_view names[] = {"same", "noise", "changed", "new", "gone", "unjudged"};
    return names[static_cast<std::size_t>(judgement)];
}

double DiffEntry::relative() const {
    if (base_or_zero.value > 0) return difference() / base_or_zero.value;
    return difference() > 0 ? std::numeric_limits<double>::infinity() : 0;
}

double DiffEntry::weight() const {
    return std::abs(difference()) * importance;
}

}  // namespace shadowprof
