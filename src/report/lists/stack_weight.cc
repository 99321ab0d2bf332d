#include "report/lists/stack_weight.h"

#include <algorithm>

namespace shadowprof {

namespace {

bool has_stack_times(const Profile& profile) {
    return std::ranges::any_of(profile.stacks, [](const Stack& s) { return s.time_ns != 0; });
}

}  // namespace

bool has_times(const Profile& profile) {
    return !profile.clock.empty() || has_stack_times(profile);
}

Result<void> check_weight(const Profile& profile, StackWeight weight) {
    if (weight != StackWeight::time || has_times(profile)) return {};
    return Error{ErrorCode::not_found, 0,
                 "the profile has no times: it is of exact mode, or has neither call stacks nor "
                 "ticks of a clock; use --weight=instructions"};
}

Result<void> check_stack_weight(const Profile& profile, StackWeight weight) {
    if (weight != StackWeight::time || has_stack_times(profile)) return {};
    return Error{
        ErrorCode::not_found, 0,
        "the profile has no times of call stacks: it has no stacks, is of exact mode, or was made "
        "by an older shadowprof; use --weight=instructions"};
}

}  // namespace shadowprof
