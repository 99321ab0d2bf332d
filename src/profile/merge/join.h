// Joining of equal items in a profile's lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "profile/code/index_table.h"

namespace shadowprof {

// Items with a long identity have a hash of it, as hashes are compared faster.
template <typename T>
concept HasIdentityHash = requires(const T& item) {
    identity_hash(item);
};

// Adds up items with the same identity.
template <HasIdentityHash T>
std::vector<T> joined(std::vector<T> list) {
    std::vector<T> sums;
    IndexTable index;
    for (T& item : list) {
        const std::uint64_t hash = identity_hash(item);
        const auto same = [&](std::uint32_t i) { return identity(sums[i]) == identity(item); };
        if (const auto found = index.find(hash, same)) {
            add(sums[*found], item);
        } else {
            index.insert(hash, sums.size());
            sums.push_back(std::move(item));
        }
    }
    return sums;
}
template <typename T>
std::vector<T> joined(std::vector<T> list) {
    std::ranges::stable_sort(list,
                             [](const T& a, const T& b) { return identity(a) < identity(b); });
    std::vector<T> sums;
    for (T& item : list) {
        if (!sums.empty() && identity(sums.back()) == identity(item))
            add(sums.back(), item);
        else
            sums.push_back(std::move(item));
    }
    return sums;
}

// Adds up items with the same identity and sorts the list, hottest first. Equally hot items are
// ordered by their identity.
template <typename T>
void join_and_sort(std::vector<T>& list) {
    std::vector<T> sums = joined(std::move(list));
    std::vector<T*> order;
    for (T& item : sums) order.push_back(&item);
    std::ranges::sort(order, [](const T* a, const T* b) {
        return heat(*a) != heat(*b) ? heat(*a) > heat(*b) : identity(*a) < identity(*b);
    });
    list.clear();
    list.reserve(order.size());
    for (T* item : order) list.push_back(std::move(*item));
}

}  // namespace shadowprof
