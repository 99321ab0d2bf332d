#include "base/text/numbered.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

std::string_view plural_ending(std::string_view singular) {
    constexpr std::array<std::string_view, 4> hissing = {"s", "x", "ch", "sh"};
    const bool hisses = std::ranges::any_of(
        hissing, [&](std::string_view ending) { return singular.ends_with(ending); });
    return hisses ? "es" : "s";
}

}  // namespace

std::string noun_for(std::uint64_t count, std::string_view singular) {
    return fmt::format("{}{}", singular, word_for(count, "", plural_ending(singular)));
}

std::string numbered(std::uint64_t count, std::string_view singular) {
    return fmt::format("{} {}", count, noun_for(count, singular));
}

}  // namespace shadowprof
