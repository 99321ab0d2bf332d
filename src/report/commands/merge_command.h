// What `shadowprof merge -o OUT PROFILE...` does.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace shadowprof {

struct MergeOutcome {
    std::string output;  // the file's name
    std::uint64_t runs = 0, samples = 0, instructions = 0;
};

// Adds up the profiles at `inputs` ("-" for standard input, at most once) by merge_into(), with the
// names that they hold, and writes the sum to `output` (SafeOutput's pattern: %p is the pid that
// all have, or 0). Needs at least one input. Errors: those of read_profile() and SafeOutput;
// `output` is then as it was.
Result<MergeOutcome> merge_profiles(const std::vector<std::string>& inputs,
                                    const std::string& output);

}  // namespace shadowprof
