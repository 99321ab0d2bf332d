// What `shadowprof report PROFILE` does.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"
#include "report/summary.h"

namespace shadowprof {

// Reads the profile at `path` ("-" for standard input) and prints its summary to `out`, with the
// names that the profile itself holds. Errors: those of read_profile(), or `out` cannot be written.
Result<void> report_profile(const std::string& path, const SummaryOptions& options, std::FILE* out);

}  // namespace shadowprof
