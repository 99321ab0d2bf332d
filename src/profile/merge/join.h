// Joining of equal items in a profile's lists.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace shadowprof {

// Adds up items with the same identity and sorts the list, hottest first. Equally hot items are
// ordered by their identity.
template <typename T>
void join_and_sort(std::vector<T>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [](const T& a, const T& b) { return identity(a) < identity(b); });
    std::vector<T> joined;
    for (T& item : list) {
        if (!joined.empty() && identity(joined.back()) == identity(item))
            add(joined.back(), item);
        else
            joined.push_back(std::move(item));
    }
    std::stable_sort(joined.begin(), joined.end(),
                     [](const T& a, const T& b) { return heat(a) > heat(b); });
    list = std::move(joined);
}

}  // namespace shadowprof
