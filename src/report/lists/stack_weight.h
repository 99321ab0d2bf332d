// The unit by which functions and call stacks are weighed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace shadowprof {

enum class StackWeight : std::uint8_t { instructions, time };
inline constexpr std::array<std::string_view, 2> stack_weight_names = {"instructions", "time"};
inline std::string_view name(StackWeight weight) {
    return stack_weight_names.at(static_cast<std::size_t>(weight));
}

// In instructions, or in nanoseconds of processor time.
inline std::uint64_t amount(const Stack& stack, StackWeight weight) {
    return weight == StackWeight::time ? stack.time_ns : stack.instructions;
}

// Whether the profile has times. Exact mode does not measure time.
bool has_times(const Profile& profile);
// The weight that is wanted; without a wish, time where the profile has times. Errors:
// ErrorCode::not_found if the profile has no such amounts.
Result<StackWeight> choose_weight(const Profile& profile, std::optional<StackWeight> wanted);

}  // namespace shadowprof
