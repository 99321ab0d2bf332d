// The values that options take: durations, counts, numbers, percentages, lists of words.
//
// Every parser returns ErrorCode::usage with a message that says what the value must be; the caller
// puts the option's name and the value in front.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// "250us", "1.5s", "2m": a decimal number and one of us, ms, s, m. At most 1000 days.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// "2ms/1s": two durations.
struct DurationPair {
    std::chrono::nanoseconds first, second;
};
Result<DurationPair> parse_duration_pair(std::string_view text);

// "800", "10k", "1.5M", "2G": a decimal number and a decimal multiplier, together a whole number
// from `least` to 10^15.
Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least);

// A whole number below 2^64, decimal or hexadecimal behind 0x.
Result<std::uint64_t> parse_u64(std::string_view text);

// "2..100": two whole numbers from `least` to `most`, the second not less than the first.
struct CountRange {
    std::uint64_t least, most;
};
Result<CountRange> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most);

// A decimal number from `least` to `most`.
Result<double> parse_number(std::string_view text, double least, double most);

// The same of an average number of replicas.
inline constexpr double min_load = 0.0625, max_load = 64;
Result<double> parse_load(std::string_view text);

// "1%" or "0.5": more than 0, at most 100. Returns percent.
Result<double> parse_percent(std::string_view text);

// The index of `text` in `choices`.
Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> choices);

// The members of a comma-separated list. An empty member is an error.
Result<std::vector<std::string_view>> split_list(std::string_view text);

}  // namespace shadowprof
