// Keeps profile files within the size that was asked for.
#pragma once

#include <cstdint>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Leaves out what is coldest in each list (keep_hottest() of profile/merge/size_limit.h), the same
// share of every one, so that write_profile() writes about `max_bytes` at most. Lists that are kept
// whole, and what is known of the run, can make it more. Needs lists in the order of their heat,
// with the methods.
void keep_file_size(Profile& profile, SymbolSource& symbols, std::uint64_t max_bytes);

}  // namespace shadowprof
