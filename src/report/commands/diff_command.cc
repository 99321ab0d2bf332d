#include "report/commands/diff_command.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>

#include "base/files/fd.h"
#include "base/files/safe_output.h"
#include "report/diff/compare_profiles.h"
#include "report/html/diff_page.h"

namespace shadowprof {
namespace {

// What the step has written before counts, too. GitHub shows nothing of a summary that is too long,
// so nothing is added where there is no room.
Result<void> append_summary(const std::string& path, const DiffReport& report) {
    constexpr std::size_t least_room = 8192;
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file) return errno_error(fmt::format("cannot append to GITHUB_STEP_SUMMARY '{}'", path));
    struct stat status = {};
    if (fstat(file.get(), &status) != 0) return errno_error("GITHUB_STEP_SUMMARY");
    const auto written = static_cast<std::size_t>(status.st_size);
    if (written + least_room > max_summary_bytes) return {};
    return write_all(file.get(), diff_markdown(report, max_summary_bytes - written));
}

Result<std::string> formatted(const DiffReport& report, const DiffOptions& options) {
    if (options.format == DiffFormat::none) return std::string{};
    if (options.format == DiffFormat::text) return diff_text(report, options.text);
    if (options.format == DiffFormat::markdown) return diff_markdown(report);
    if (options.format == DiffFormat::github) {
        if (!options.step_summary.empty()) TRY(append_summary(options.step_summary, report));
        return github_annotations(report);
    }
    StringSink sink;
    TRY(write_diff_json(report, sink));
    return sink.text();
}

constexpr std::size_t default_text_entries = 10;

std::size_t entry_limit(std::optional<std::size_t> top, std::size_t by_default) {
    const std::size_t most = top.value_or(by_default);
    return most == 0 ? std::numeric_limits<std::size_t>::max() : most;
}

Result<void> write_diff_file(const DiffReport& report, const DiffOptions& options) {
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(options.page, NamedBy::command));
    TRY(write_diff_page(report, output));
    TRY(output.commit(static_cast<pid_t>(report.next.profile.run.pid)));
    return {};
}

}  // namespace

Result<std::vector<LimitResult>> report_diff(const DiffOptions& options, int out) {
    if (options.base == "-" && options.next == "-")
        return Error{ErrorCode::usage, 0, "standard input can be read only once"};
    TRY_ASSIGN(ProfileFile base, read_profile(options.base));
    TRY_ASSIGN(ProfileFile next, read_profile(options.next));
    const std::size_t top = entry_limit(options.top, default_text_entries);
    const std::size_t page_top = entry_limit(options.top, default_page_entries);
    TRY(check_file_pairs(options.pairs, base.profile, next.profile));
    const Diff diff =
        compare_profiles(base, next, options.page.empty() ? top : page_top, options.pairs);
    TRY_ASSIGN(std::vector<LimitResult> limits,
               check_limits(diff, options.limits, options.limit_options));
    DiffReport report{
        {options.base, base.profile}, {options.next, next.profile}, diff, limits, page_top};
    if (!options.page.empty()) TRY(write_diff_file(report, options));
    report.top = top;
    TRY_ASSIGN(const std::string text, formatted(report, options));
    if (auto written = write_all(out, text); !written)
        return std::move(written).error().with_context("cannot write the diff");
    return limits;
}

}  // namespace shadowprof
