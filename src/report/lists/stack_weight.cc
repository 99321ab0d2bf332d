#include "report/lists/stack_weight.h"

#include <algorithm>

namespace shadowprof {

bool has_times(const Profile& profile) {
    return std::ranges::any_of(profile.stacks, [](const Stack& s) { return s.time_ns != 0; });
}

Result<void> check_weight(const Profile& profile, StackWeight weight) {
    if (weight != StackWeight::time || has_times(profile)) return {};
    return Error{ErrorCode::not_found, 0,
                 "the profile has no times: it has no call stacks, is of exact mode, or was made "
                 "by an older shadowprof; use --weight=instructions"};
}

}  // namespace shadowprof
