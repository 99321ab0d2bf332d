// What the kernel says of each mapping beyond /proc/PID/maps: proc_pid_smaps(5).
#pragma once

#include <string_view>
#include <vector>

#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

struct FlaggedMapping {
    Mapping mapping;
    std::string_view flags;  // what stands behind VmFlags:, in the text that was parsed

    // One of two letters.
    bool has(std::string_view flag) const;
};

// From the text of /proc/PID/smaps, which must outlive the result: the mappings that have flags, in
// the order of the text. Flags without a mapping in front of them are passed over. Errors: invalid:
// a line that is neither a mapping nor begins as a key does.
Result<std::vector<FlaggedMapping>> parse_flagged_mappings(std::string_view smaps_text);

}  // namespace shadowprof
