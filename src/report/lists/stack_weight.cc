#include "report/lists/stack_weight.h"

namespace shadowprof {

bool has_times(const Profile& profile) {
    return !profile.times.empty();
}

Result<void> check_weight(const Profile& profile, StackWeight weight) {
    if (weight != StackWeight::time || has_times(profile)) return {};
    return Error{ErrorCode::not_found, 0,
                 "the profile has no times: it is of exact mode, of a run too short for a look at "
                 "its threads, or was made by an older shadowprof; use --weight=instructions"};
}

}  // namespace shadowprof
