// Parsers of option values: durations, counts, numbers, percentages, lists of words.
//
// Every parser returns ErrorCode::usage with a message that says what the value must be. The caller
// adds the option's name and the value.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// Parses a decimal number of seconds, or one with a unit, us, ms, s or m: "5", "250us", "2m". At
// most 1000 days.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Two durations: "2ms/1s".
struct DurationPair {
    std::chrono::nanoseconds first, second;
};
Result<DurationPair> parse_duration_pair(std::string_view text);

// Parses a decimal number with an optional decimal multiplier: "800", "10k", "1.5M", "2G". The
// product must be a whole number from `least` to 10^15.
Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least);

// Parses a whole number below 2^64, decimal or hexadecimal with 0x in front.
Result<std::uint64_t> parse_u64(std::string_view text);

// Two whole numbers from `least` to `most`, the second not less than the first: "2..100".
struct CountRange {
    std::uint64_t least, most;
};
Result<CountRange> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most);

// Parses a decimal number from `least` to `most`.
Result<double> parse_number(std::string_view text, double least, double most);

// Parses an average number of replicas.
inline constexpr double min_load = 0.0625, max_load = 64;
Result<double> parse_load(std::string_view text);

// Parses "1%" or "0.5": more than 0, at most 100. Returns percent.
Result<double> parse_percent(std::string_view text);

// Returns the index of `text` in `choices`.
Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> choices);

// Returns the members of a comma-separated list. An empty member is an error.
Result<std::vector<std::string_view>> split_list(std::string_view text);

}  // namespace shadowprof
