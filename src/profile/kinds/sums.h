// How what profiles say of one thing adds up.
#pragma once

#include <cmath>
#include <optional>

namespace shadowprof {

// Errors of independent counts add up by squares. Unknown if one of them is.
inline void add_error(std::optional<double>& sum, const std::optional<double>& error) {
    if (sum && error)
        sum = std::hypot(*sum, *error);
    else
        sum.reset();
}

// Unknown if one of them is.
template <typename Count>
void add_known(std::optional<Count>& sum, const std::optional<Count>& count) {
    if (sum && count)
        *sum += *count;
    else
        sum.reset();
}

}  // namespace shadowprof
