// Runs `shadowprof merge -o OUT PROFILE...`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace shadowprof {

struct MergeOutcome {
    std::string output;  // name of the file written
    std::uint64_t runs = 0, samples = 0, instructions = 0;
    bool has_unequal_runs = false;  // see has_unequal_runs()
};

struct MergeProgress {
    std::size_t files = 0, all_files = 0;    // read, and to be read
    std::uint64_t bytes = 0, all_bytes = 0;  // the same; all_bytes is 0 if it is unknown
};
// Called often while files are read.
using MergeListener = std::function<void(const MergeProgress&)>;

// Adds up the profiles at `inputs` ("-" for standard input, at most once) by merge_into(), with
// their recorded names, and writes the sum to `output`. `output` is a pattern of SafeOutput, where
// %p is the profiles' common pid or 0. The sum is kept within `max_bytes` by keep_size(). Needs at
// least one input. Errors: those of read_profile() and SafeOutput, on which `output` is unchanged.
Result<MergeOutcome> merge_profiles(const std::vector<std::string>& inputs,
                                    const std::string& output, std::uint64_t max_bytes,
                                    const MergeListener& on_progress = {});

}  // namespace shadowprof
