// Counts with the noun that they count, and words that go by the count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shadowprof {

// "1 run", "12345 runs", "2 processes". A noun that ends in s, x, ch or sh gets "es".
std::string numbered(std::uint64_t count, std::string_view singular);
// The noun without its count: "run", "runs".
std::string noun_for(std::uint64_t count, std::string_view singular);
// Returns `one` if the count is 1, otherwise `others`: "was", "were".
constexpr std::string_view word_for(std::uint64_t count, std::string_view one,
                                    std::string_view others) {
    return count == 1 ? one : others;
}

}  // namespace shadowprof
