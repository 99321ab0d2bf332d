#include "report/lists/stack_weight.h"

#include <algorithm>

#include "base/text/suggest.h"

namespace shadowprof {

Result<StackWeight> stack_weight(std::string_view name) {
    const auto found = std::ranges::find(stack_weight_names, name);
    if (found == stack_weight_names.end())
        return bad_option_value("--weight", name, stack_weight_names);
    return static_cast<StackWeight>(found - stack_weight_names.begin());
}

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
