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
// What GitHub shows of a comment, and of the summary of a step.
inline constexpr std::size_t max_comment_bytes = 65'536, max_summary_bytes = 1 << 20;

// GitHub's Markdown for a comment on a pull request. Names cannot break out of cells or links, nor
// mention users. The text is cut to `most_bytes`, of which it needs some thousands: rows from some
// row on are left out, and the middle of long names. The last line says how much was cut.
std::string diff_markdown(const DiffReport& report, std::size_t most_bytes = max_comment_bytes);
// Workflow commands for the standard output of GitHub's runner: an error for each exceeded limit, a
// warning for each undecidable one.
std::string github_annotations(const DiffReport& report);

}  // namespace shadowprof
