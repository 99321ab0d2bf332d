// Adds up the results of probes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "profile/kinds/probes/probe_profile.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

// An estimate from one list, or the sum of both.
struct JoinedTop {
    std::uint64_t count = 0;
    double error = 0;
    bool in_a = false, in_b = false;
};

// Adds estimates of disjoint streams. Independent errors add up by squares, including the error for
// a value that a list does not name (profile/kinds/values/hotlist.h, add_summary).
std::vector<ProbeTop> join_tops(const std::vector<ProbeTop>& a, double absent_of_a,
                                const std::vector<ProbeTop>& b, double absent_of_b) {
    std::map<ProbeDatum, JoinedTop> joined;
    const auto add = [&](const ProbeTop& top, bool JoinedTop::*where) {
        JoinedTop& sum = joined[top.value];
        sum.count += top.count;
        sum.error = std::hypot(sum.error, top.error);
        sum.*where = true;
    };
    for (const ProbeTop& top : a) add(top, &JoinedTop::in_a);
    for (const ProbeTop& top : b) add(top, &JoinedTop::in_b);
    std::vector<ProbeTop> tops;
    for (auto& [value, sum] : joined) {
        if (!sum.in_a) sum.error = std::hypot(sum.error, absent_of_a);
        if (!sum.in_b) sum.error = std::hypot(sum.error, absent_of_b);
        tops.push_back({value, sum.count, sum.error});
    }
    std::stable_sort(tops.begin(), tops.end(),
                     [](const ProbeTop& x, const ProbeTop& y) { return x.count > y.count; });
    return tops;
}

bool is_less(std::uint64_t a, std::uint64_t b, bool is_signed) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

void add_extremes(ProbeEntry& sum, const ProbeEntry& more, bool is_signed) {
    if (more.count == 0) return;
    if (sum.count == 0 || is_less(more.least, sum.least, is_signed)) sum.least = more.least;
    if (sum.count == 0 || is_less(sum.most, more.most, is_signed)) sum.most = more.most;
}

// Needs two entries with the same key.
void add_entry(ProbeEntry& sum, const ProbeEntry& more, bool is_signed) {
    add_extremes(sum, more, is_signed);
    sum.count += more.count;
    sum.sum = wrapping_sum(sum.sum, more.sum);
    for (const auto& [bucket, count] : more.histogram) sum.histogram[bucket] += count;
    sum.top = join_tops(sum.top, sum.absent_error, more.top, more.absent_error);
    sum.absent_error = std::hypot(sum.absent_error, more.absent_error);
}

}  // namespace

ProbeSum wrapping_sum(ProbeSum a, ProbeSum b) {
    __extension__ using Bits = unsigned __int128;
    return static_cast<ProbeSum>(static_cast<Bits>(a) + static_cast<Bits>(b));
}

int bucket_of(std::uint64_t value, bool is_signed) {
    const bool negative = is_signed && static_cast<std::int64_t>(value) < 0;
    const int width = static_cast<int>(std::bit_width(negative ? 0 - value : value));
    return negative ? -width : width;
}

void settle(ProbeProfile& probe) {
    const bool is_signed = probe.value == ProbeDatumKind::signed_number;
    std::map<ProbeDatum, ProbeEntry> by_key;
    for (ProbeEntry& entry : probe.entries) {
        entry.top = join_tops(entry.top, 0, {}, 0);
        if (entry.count == 0) entry.least = entry.most = 0;
        const auto [found, is_new] = by_key.try_emplace(entry.key, entry);
        if (!is_new) add_entry(found->second, entry, is_signed);
    }
    probe.entries.clear();
    for (auto& [key, entry] : by_key) probe.entries.push_back(std::move(entry));
    const bool by_sum = probe.reducer == Reducer::sum;
    std::stable_sort(probe.entries.begin(), probe.entries.end(),
                     [&](const ProbeEntry& a, const ProbeEntry& b) {
                         return by_sum ? a.sum > b.sum : a.count > b.count;
                     });
}

void add(ProbeProfile& sum, const ProbeProfile& more) {
    sum.hits += more.hits;
    sum.missed += more.missed;
    sum.left_out += more.left_out;
    sum.entries.insert(sum.entries.end(), more.entries.begin(), more.entries.end());
    settle(sum);
}

}  // namespace shadowprof
