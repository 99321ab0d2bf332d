// shadowprof diff: shows what changed between two profiles, and fails if a limit is exceeded.
#include <unistd.h>

#include <array>
#include <cstdlib>

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
    std::string_view reader;  // who reads the format, for the help
};
constexpr std::array diff_formats{
    FormatWord{"text", DiffFormat::text, "for people"},
    FormatWord{"json", DiffFormat::json, "for programs"},
    FormatWord{"markdown", DiffFormat::markdown, "for a comment on a pull request"},
    FormatWord{"github", DiffFormat::github,
               "for annotations; the Markdown is appended to $GITHUB_STEP_SUMMARY"}};

std::vector<std::string_view> format_words() {
    std::vector<std::string_view> words;
    for (const FormatWord& each : diff_formats) words.push_back(each.word);
    return words;
}

Result<void> set_min_share(DiffOptions& options, std::string_view value) {
    if (value.ends_with('%')) value.remove_suffix(1);
    TRY_ASSIGN(const double percent, parse_number(value, 0, 100));
    options.limit_options.min_share = percent / 100;
    return {};
}

Result<void> add_limit(DiffOptions& options, std::string_view value) {
    TRY_ASSIGN(Limit limit, parse_limit(std::string(value)));
    options.limits.push_back(std::move(limit));
    return {};
}

Result<void> add_pair(DiffOptions& options, std::string_view value) {
    TRY_ASSIGN(FilePair pair, parse_file_pair(value));
    options.pairs.push_back(std::move(pair));
    return {};
}

Result<void> set_top(DiffOptions& options, std::string_view value) {
    TRY_ASSIGN(options.top, parse_count(value, 0));
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
    DiffOptions options;
    bool strict = false;
    CommandLine line(
        {"diff", "[options] BASE NEW",
         "Shows what changed between two profiles, and whether the changes are beyond limits."},
        {{.names = "BASE",
          .help = "the profile before the change; - is standard input",
          .set = set_text(options.base),
          .argument = OptionRow::Argument::required},
         {.names = "NEW",
          .help = "the profile after the change",
          .set = set_text(options.next),
          .argument = OptionRow::Argument::required},
         {.names = "--fail-if",
          .value = "LIMIT",
          .help = "end with status 3 if this limit is exceeded; may be given more than once:\n"
                  "instructions>+2%\n(or edges or calls; for exact profiles)\n"
                  "'function:parse_*>+5%'\n(or entries:GLOB, how often functions are called)\n"
                  "latency.memory>+2pp\n(percentage points of a share)\n"
                  "calls<-1000\n(a decrease, as a count)",
          .set = [&](auto value) { return add_limit(options, value); }},
         {.names = "--map",
          .value = "OLD=NEW",
          .help = "compare the file OLD of BASE with the file NEW of NEW, by their paths or names; "
                  "may be given more than once",
          .set = [&](auto value) { return add_pair(options, value); }},
         {.names = "--min-share",
          .value = "PERCENT",
          .help = "limits with wildcards test only functions with at least this share of all [0%]",
          .set = [&](auto value) { return set_min_share(options, value); }},
         {.names = "--strict",
          .help = "count a limit that cannot be decided as exceeded",
          .set = set_flag(strict)},
         {.names = "--format",
          .value = "FORMAT",
          .help = format_help(),
          .words = format_words(),
          .choose = [&](std::size_t format) { options.format = diff_formats[format].format; }},
         {.names = "--top",
          .value = "N",
          .help = "show the N largest changes of each kind; 0 shows all [10; 500 in pages]",
          .set = [&](auto value) { return set_top(options, value); }},
         {.names = "--html",
          .value = "FILE",
          .help = "write the diff to FILE as one page for browsers, and print it only if there is "
                  "--format; - is standard output",
          .set = set_file_name(options.page)}});
    if (const auto done = line.parse(words, exit_diff_usage)) return *done;
    if (options.page == "-" && line.has("--format")) {
        say("diff: --html=- and --format both write to standard output");
        return exit_diff_usage;
    }
    if (!options.page.empty() && !line.has("--format")) options.format = DiffFormat::none;
    options.text = text_options(STDOUT_FILENO);
    if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY")) options.step_summary = summary;
    const auto limits = report_diff(options, STDOUT_FILENO);
    if (limits) return status_of(*limits, strict);
    say("diff: {}", limits.error().message);
    return limits.error().code == ErrorCode::usage ? exit_diff_usage : exit_diff_failure;
}

}  // namespace shadowprof
