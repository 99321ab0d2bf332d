// How items of a profile's lists are joined.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace shadowprof {

// Adds up items of one identity and sorts the hottest first; the order is that of their content
// where they are equally hot.
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
