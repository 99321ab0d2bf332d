// The values of --every and --burst-length, which commands of a control channel have too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shadow/run_options.h"

namespace shadowprof {

struct EveryValue {
    std::uint64_t every = 0;
    EventKinds events;
};

// "1000", "10kcalls", "500backedges", "1kcalls+backedges": a count and which events it is of; both
// kinds if it does not say. Errors: usage, saying what is accepted.
Result<EveryValue> parse_every(std::string_view text);

// A kind of profile that has bursts of its own, by its number.
enum class LengthKind : std::uint8_t { edge, path, call, value, hazard };
inline constexpr std::size_t length_kinds = 5;
std::string_view name(LengthKind kind);

struct BurstLength {
    LengthKind kind = LengthKind::edge;
    std::uint64_t events = 0;
};

// "edge:1", "path:50,value:10". Errors: usage, saying what is accepted.
Result<std::vector<BurstLength>> parse_burst_lengths(std::string_view text);

// Bursts of the kinds that are collected, with the lengths that they have if none are asked for.
WindowOptions bursts_of(const EveryValue& every, const ProfileKinds& collected);

// Errors: usage, if that kind is not collected.
Result<void> set_length(WindowOptions& bursts, const BurstLength& length);
// 0 if the kind is not collected.
std::uint64_t length_of(const WindowOptions& bursts, LengthKind kind);

// "edge:1,path:1": those of the kinds that are collected.
std::string lengths_text(const WindowOptions& bursts);

}  // namespace shadowprof
