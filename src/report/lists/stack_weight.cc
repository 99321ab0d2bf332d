#include "report/lists/stack_weight.h"

namespace shadowprof {

bool has_times(const Profile& profile) {
    return !profile.times.empty();
}

Result<StackWeight> choose_weight(const Profile& profile, std::optional<StackWeight> wanted) {
    const bool timed = has_times(profile);
    if (!wanted) return timed ? StackWeight::time : StackWeight::instructions;
    if (*wanted != StackWeight::time || timed) return *wanted;
    return Error{ErrorCode::not_found, 0,
                 "the profile has no times: it is of exact mode, of a run too short for a look at "
                 "its threads, or was made by an older shadowprof; use --weight=instructions"};
}

}  // namespace shadowprof
