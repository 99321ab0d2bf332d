// Keeps profiles within the size that was asked for.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace shadowprof {

// Folds the coldest call stacks (kinds/stacks/stack_folder.h) and leaves out the coldest paths and
// the values of the least executed instructions, so that these lists have at most their shares of
// `max_bytes` (profile_size.h). Counters say how many there were, a note says which share of the
// whole. The counts of functions stay what they are. Of stacks that were folded into one, errors
// add up, as their counts may vary together. Needs paths and values in the order of their heat.
void keep_size(Profile& profile, std::uint64_t max_bytes);

}  // namespace shadowprof
