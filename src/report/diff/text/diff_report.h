// A diff for people and for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "report/diff/limits/limit_check.h"
#include "report/diff/profile_diff.h"
#include "report/text/text_page.h"

namespace shadowprof {

// A profile that was compared.
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

// No line is wider than asked for but those of messages; nothing in it upsets a terminal.
std::string diff_text(const DiffReport& report, const TextOptions& options);
// One JSON object; man/shadowprof-diff.1 says what is in it. Errors: those of the sink.
Result<void> write_diff_json(const DiffReport& report, ByteSink& sink);
// GitHub's Markdown, for a comment on a pull request. Names cannot leave their cells or links, nor
// mention anybody.
std::string diff_markdown(const DiffReport& report);
// Commands that GitHub's runner reads on standard output: an error for each limit that is exceeded,
// a warning for each that is undecidable.
std::string github_annotations(const DiffReport& report);

}  // namespace shadowprof
