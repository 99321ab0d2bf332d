// shadowprof diff: what changed between two profiles, and whether that is too much.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/diff_command.h"

namespace shadowprof {
namespace {

struct FormatWord {
    std::string_view word;
    DiffFormat format;
    std::string_view reader;  // in the help
};
constexpr std::array diff_formats{
    FormatWord{"text", DiffFormat::text, "for people"},
    FormatWord{"json", DiffFormat::json, "for programs"},
    FormatWord{"markdown", DiffFormat::markdown, "for a comment on a pull request"},
    FormatWord{"github", DiffFormat::github,
               "for annotations; the Markdown is appended to $GITHUB_STEP_SUMMARY"}};

std::array<std::string_view, diff_formats.size()> format_words() {
    std::array<std::string_view, diff_formats.size()> words;
    std::transform(diff_formats.begin(), diff_formats.end(), words.begin(),
                   [](const FormatWord& each) { return each.word; });
    return words;
}

// As they are typed.
struct DiffWords {
    std::string format = "text", top = "10", least_share = "0";
    std::vector<std::string> limits;
};

Result<void> parse_into(DiffOptions& options, const DiffWords& words) {
    const auto* format =
        std::find_if(diff_formats.begin(), diff_formats.end(),
                     [&](const FormatWord& each) { return each.word == words.format; });
    if (format == diff_formats.end())
        return bad_option_value("--format", printable(words.format), format_words());
    options.format = format->format;
    const auto top = parse_count(words.top, 0);
    if (!top) return Error(top.error()).with_context("--top");
    options.top = *top;
    std::string_view share = words.least_share;
    if (share.ends_with('%')) share.remove_suffix(1);
    const auto percent = parse_number(share, 0, 100);
    if (!percent) return Error(percent.error()).with_context("--min-share, in percent");
    options.limit_options.least_share = *percent / 100;
    for (const std::string& text : words.limits) {
        auto limit = parse_limit(text);
        if (!limit) return Error(limit.error()).with_context("--fail-if");
        options.limits.push_back(*std::move(limit));
    }
    return {};
}

std::string format_help() {
    std::string help = "what to write [text]:";
    for (const FormatWord& each : diff_formats)
        help += fmt::format("\n{} ({})", each.word, each.reader);
    return help;
}

int status_of(const std::vector<LimitResult>& limits, bool strict) {
    for (const LimitResult& result : limits) {
        if (result.verdict == Verdict::exceeded) return exit_diff_exceeded;
        if (strict && result.verdict == Verdict::undecidable) return exit_diff_exceeded;
    }
    return 0;
}

}  // namespace

int diff_main(std::span<const std::string> words) {
    CommandLine line(
        "Shows what changed between two profiles, and whether the changes are beyond limits.",
        "shadowprof diff");
    DiffOptions options;
    DiffWords typed;
    bool strict = false;
    line.texts("--fail-if", typed.limits,
               "end with status 3 if this limit is exceeded; may be given more than once:\n"
               "instructions>+2% (or edges or calls; for exact profiles)\n"
               "'function:parse_*>+5%' (or entries:GLOB, how often functions are called)\n"
               "latency.memory>+2pp (percentage points of a share)\n"
               "calls<-1000 (a decrease, as a count)")
        .value_name("LIMIT")
        .one_value_each();
    line.text("--min-share", typed.least_share,
              "limits with wildcards test only functions with at least this share of all [0%]")
        .value_name("PERCENT");
    line.flag("--strict", strict, "count a limit that cannot be decided as exceeded");
    line.text("--format", typed.format, format_help()).value_name("FORMAT");
    line.text("--top", typed.top, "show the N largest changes of each kind; 0 shows all [10]")
        .value_name("N");
    line.text("BASE", options.base, "the profile before the change; - is standard input")
        .required();
    line.text("NEW", options.next, "the profile after the change").required();
    if (const auto done = line.parse("diff", words)) return *done == 0 ? 0 : exit_diff_usage;
    if (const auto parsed = parse_into(options, typed); !parsed) {
        say("diff: {}", parsed.error().message);
        return exit_diff_usage;
    }
    options.text = text_options(STDOUT_FILENO);
    if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY")) options.step_summary = summary;
    const auto limits = report_diff(options, STDOUT_FILENO);
    if (limits) return status_of(*limits, strict);
    say("diff: {}", limits.error().message);
    return limits.error().code == ErrorCode::usage ? exit_diff_usage : exit_diff_failure;
}

}  // namespace shadowprof
