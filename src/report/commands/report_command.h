// Runs `shadowprof report PROFILE`.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/result.h"
#include "report/profile_file/profile_reader.h"
#include "report/text/full_lists.h"

namespace shadowprof {

struct ReportRequest {
    ListRequest lists;                  // `weight` is chosen from the next member
    std::optional<StackWeight> weight;  // see choose_weight()
    bool is_verbose = false;            // of the summary
};

// Reads the profile at `path` ("-" for standard input) and prints its summary to `out`, or the
// lists or findings that are requested. Uses only the names recorded in the profile. Needs
// check(lists). `on_read` as for read_profile(). Errors: those of read_profile(), or `out` cannot
// be written.
Result<void> report_profile(const std::string& path, const ReportRequest& request,
                            const TextOptions& options, std::FILE* out,
                            const ReadListener& on_read = {});

// Writes the lists to the descriptor `out` by write_lists_json(). Needs the same; the same errors.
Result<void> report_json(const std::string& path, const ReportRequest& request, int out,
                         const ReadListener& on_read = {});

}  // namespace shadowprof
