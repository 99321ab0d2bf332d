// Whether a list has a value.
#pragma once

#include <algorithm>
#include <ranges>
#include <utility>

namespace shadowprof {

// For lists of whole numbers, whose type may be another one than that of `value`.
template <std::ranges::input_range List, typename Value>
constexpr bool contains(const List& list, Value value) {
    return std::ranges::any_of(list, [&](auto item) { return std::cmp_equal(item, value); });
}

}  // namespace shadowprof
