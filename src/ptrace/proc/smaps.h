// What the kernel says about each mapping beyond /proc/PID/maps: proc_pid_smaps(5).
#pragma once

#include <string_view>
#include <vector>

#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

struct FlaggedMapping {
    Mapping mapping;
    std::string_view flags;  // the text after VmFlags:, a view of the parsed text

    // Whether the mapping has a flag, which has two letters.
    bool has(std::string_view flag) const;
};

// Returns the mappings that have flags, in the order of /proc/PID/smaps. The text must outlive the
// result. Skips flags that follow no mapping. ErrorCode::invalid: a line is neither a mapping nor
// begins as a key does.
Result<std::vector<FlaggedMapping>> parse_flagged_mappings(std::string_view smaps_text);

}  // namespace shadowprof
