// "Did you mean ...?"
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// The member of `known` that `typed` most likely meant, or an empty view if none is near: at most
// one insertion, deletion or replacement for every three characters typed.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

// ErrorCode::usage: an option cannot have the value `typed`, which must be printable.
// "--sort=lenght: did you mean 'length'?; it takes count, length".
Error bad_option_value(std::string_view option, std::string_view typed,
                       std::span<const std::string_view> known);

}  // namespace shadowprof
