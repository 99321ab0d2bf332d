// Keeps profiles within the size that was asked for.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "profile/kinds/registry.h"

namespace shadowprof {

// Folds the coldest call stacks (kinds/stacks/stack_folder.h) and leaves out the coldest paths and
// the values of the least executed instructions, so that these lists have at most their shares of
// `max_bytes` (profile_size.h). Counters say how many there were, a note says which share of the
// whole. The counts of functions stay what they are. Of stacks that were folded into one, errors
// add up, as their counts may vary together. Needs paths and values in the order of their heat.
void keep_size(Profile& profile, std::uint64_t max_bytes);

// Whether keep_hottest() leaves a list as it is: its times are the run's, it has few records, or
// they are added up where profiles are compared.
template <typename Kind>
bool is_never_cut(const std::vector<typename Kind::Record>& list) {
    constexpr std::size_t few = 16;
    if constexpr (requires { Kind::is_kept_whole; }) return true;
    return std::is_same_v<Kind, ProbeList> || std::is_same_v<Kind, SystemCallList> ||
           list.size() <= few;
}

// The functions that execute in the stacks, each once.
std::vector<CodeLocation> functions_of(const std::vector<Stack>& stacks);

// Leaves out what is coldest in each list, so that `share` of its records is left, and folds call
// stacks until they take no more than the hottest ones did. Counters say how many records were left
// out and how many executions they had, notes say which share. Needs lists in the order of their
// heat and 0 <= share < 1.
void keep_hottest(Profile& profile, double share);

// The executions of the edges or calls that keep_hottest() has left out.
std::uint64_t executions_of_cut_edges(const Profile& profile);
std::uint64_t executions_of_cut_calls(const Profile& profile);

}  // namespace shadowprof
