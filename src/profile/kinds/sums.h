// Adds up what several profiles count of one thing.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>

namespace shadowprof {

// Errors of independent counts add up by squares. The sum is unknown if one of them is.
inline void add_error(std::optional<double>& sum, const std::optional<double>& error) {
    if (sum && error)
        sum = std::hypot(*sum, *error);
    else
        sum.reset();
}

// The sum is unknown if one of them is.
template <typename Count>
void add_known(std::optional<Count>& sum, const std::optional<Count>& count) {
    if (sum && count)
        *sum += *count;
    else
        sum.reset();
}

// A record with a count and the error of that count.
template <typename Record>
concept Counted = requires(Record r) {
    requires std::same_as<decltype(r.count), std::uint64_t>;
    requires std::same_as<decltype(r.error), std::optional<double>>;
};
inline std::uint64_t heat(const Counted auto& record) {
    return record.count;
}
template <Counted Record>
void add(Record& sum, const Record& record) {
    sum.count += record.count;
    add_error(sum.error, record.error);
}

}  // namespace shadowprof
