// "Did you mean ...?"
#pragma once

#include <span>
#include <string_view>

namespace shadowprof {

// The member of `known` that `typed` most likely meant, or an empty view if none is near: at most
// one insertion, deletion or replacement for every three characters typed.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

}  // namespace shadowprof
