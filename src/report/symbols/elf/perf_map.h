// Names of code without a file: the maps that just-in-time compilers write for perf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/symbols/elf/function_range.h"

namespace shadowprof {

// Parses a perf-PID.map: lines of `START SIZE name`, numbers in hexadecimal. Malformed lines are
// skipped. If entries overlap, the later one counts, as the compiler has reused the memory.
NamedFunctions parse_perf_map(std::string_view text);

// The same for a file. Errors: it cannot be read, or is larger than 1 GiB.
Result<NamedFunctions> read_perf_map(const std::string& path);

}  // namespace shadowprof
