// Differences between a later and an earlier profile of a run.
//
// subtract(later, earlier) subtracts the earlier counts, and is_empty(later) tells whether nothing
// is left. Bounded tables forget, so a later count may be smaller than the earlier one; the
// difference is then 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "profile/kinds/sums.h"
#include "profile/merge/join.h"

namespace shadowprof {

inline void subtract(std::uint64_t& count, std::uint64_t earlier) {
    count -= std::min(count, earlier);
}
inline void subtract(double& amount, double earlier) {
    amount = std::max(amount - earlier, 0.0);
}

template <typename Key, typename Count>
void subtract(std::map<Key, Count>& counts, const std::map<Key, Count>& earlier) {
    for (const auto& [key, count] : earlier)
        if (const auto it = counts.find(key); it != counts.end()) subtract(it->second, count);
    std::erase_if(counts, [](const auto& each) { return each.second == Count{}; });
}

// The errors stay those of the later profile, which include those of the earlier counts.
template <Counted Record>
void subtract(Record& record, const Record& earlier) {
    subtract(record.count, earlier.count);
}

template <typename Record>
bool is_empty(const Record& record) {
    return heat(record) == decltype(heat(record)){};
}

// Needs lists that have each record once.
template <typename Record>
void subtract_list(std::vector<Record>& list, const std::vector<Record>& earlier) {
    std::vector<const Record*> sorted;
    for (const Record& record : earlier) sorted.push_back(&record);
    const auto less = [](const auto& a, const auto& b) { return identity(a) < identity(b); };
    std::ranges::sort(sorted, [&](const Record* a, const Record* b) { return less(*a, *b); });
    for (Record& record : list) {
        const auto it = std::ranges::lower_bound(
            sorted, record, less, [](const Record* each) -> const Record& { return *each; });
        if (it != sorted.end() && identity(**it) == identity(record)) subtract(record, **it);
    }
    std::erase_if(list, [](const Record& record) { return is_empty(record); });
    join_and_sort(list);
}

// Subtracts estimated counts. A value that the earlier list does not name may have had a count of
// up to `absent_error`. Values whose remaining count is below its error are removed.
template <typename Top>
void subtract_top(std::vector<Top>& top, const std::vector<Top>& earlier, double absent_error) {
    for (Top& each : top) {
        const auto it = std::ranges::find(earlier, each.value, &Top::value);
        const bool is_known = it != earlier.end();
        if (is_known) subtract(each.count, it->count);
        each.error = std::hypot(each.error, is_known ? it->error : absent_error);
    }
    std::erase_if(top, [](const Top& each) {
        return each.count == 0 || static_cast<double>(each.count) < each.error;
    });
    std::ranges::stable_sort(top, std::ranges::greater{}, &Top::count);
}

}  // namespace shadowprof
