// Prints a diff in formats for people and for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "report/diff/limits/limit_check.h"
#include "report/diff/profile_diff.h"
#include "report/text/text_page.h"

namespace shadowprof {

// One of the profiles that were compared.
struct DiffReportSide {
    std::string path;
    const Profile& profile;
};

struct DiffReport {
    DiffReportSide base, next;
    const Diff& diff;
    std::span<const LimitResult> limits;
    std::size_t top = 10;  // entries of each table
};

inline constexpr std::string_view diff_schema = "shadowprof-diff/1";

// No line but those of messages is wider than `options` allow. Control characters are replaced.
std::string diff_text(const DiffReport& report, const TextOptions& options);
// Writes one JSON object; see man/shadowprof-diff.1 for its members. Errors: those of the sink.
Result<void> write_diff_json(const DiffReport& report, ByteSink& sink);
// GitHub's Markdown for a comment on a pull request. Names cannot break out of cells or links, nor
// mention users.
std::string diff_markdown(const DiffReport& report);
// Workflow commands for the standard output of GitHub's runner: an error for each exceeded limit, a
// warning for each undecidable one.
std::string github_annotations(const DiffReport& report);

}  // namespace shadowprof
