// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// Returns the member of `known` that `typed` most likely meant, or an empty view if none is near.
// Near means at most one insertion, deletion, replacement or swap of neighbours for every three
// characters typed.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

// Returns "did you mean 'length'? ", to be put before the accepted words. Empty if no word is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known);

// Returns ErrorCode::usage for an option's bad value `typed`, which must be printable:
// "--sort=lenght: did you mean 'length'?; it takes count, length".
Error bad_option_value(std::string_view option, std::string_view typed,
                       std::span<const std::string_view> known);

}  // namespace shadowprof
