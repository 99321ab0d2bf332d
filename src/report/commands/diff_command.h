// Runs `shadowprof diff`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/diff/text/diff_report.h"

namespace shadowprof {

enum class DiffFormat : std::uint8_t { text, json, markdown, github, none };

struct DiffOptions {
    std::string base, next;  // files; one may be "-", standard input
    std::vector<FilePair> pairs;
    std::vector<Limit> limits;
    LimitOptions limit_options;
    DiffFormat format = DiffFormat::text;
    std::optional<std::size_t> top;  // entries of each table; 0: all; nothing: the format's default
    std::string page;                // the file of the HTML page; "-": `out`; empty: no page
    TextOptions text;
    std::string step_summary;  // for `github`: the file to append to; empty: none
};

// Writes the diff to the descriptor `out`, and the page, and returns the results of the limits.
// Errors: those of read_profile() and check_limits(), or `out`, the page or the summary cannot be
// written.
Result<std::vector<LimitResult>> report_diff(const DiffOptions& options, int out);

}  // namespace shadowprof
