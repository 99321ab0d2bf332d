// shadowprof report: shows a profile's summary or lists, writes an HTML page of it, or shows what
// is known of the machine.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/files/safe_output.h"
#include "cli/commands/commands.h"
#include "cli/commands/host_report.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/report_command.h"
#include "report/html/html_report.h"
#include "report/lists/name_filter.h"
#include "report/profile_file/profile_reader.h"
#include "shadow/latency/calibrated_host.h"

namespace shadowprof {
namespace {

// They are for lists alone.
constexpr const char* list_options[] = {"--by", "--sort", "--filter", "--module", "--user"};

int report_host() {
    prepare_sigchld();
    WaitHub hub;
    const auto calibration = calibrated_host(hub);
    if (!calibration) {
        say("report: {}", calibration.error().message);
        return exit_own_failure;
    }
    put(stdout, host_report(*calibration));
    return 0;
}

Result<void> write_page(const std::string& path, const std::string& page,
                        const HtmlOptions& options) {
    TRY_ASSIGN(ProfileFile file, read_profile(path));
    TRY(check_weight(file.profile, options.weight));
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(page));
    TRY(write_html(file, options, output));
    TRY(output.commit(static_cast<pid_t>(file.profile.run.pid)));
    return {};
}

int failed(std::string_view message) {
    say("report: {}", message);
    return exit_own_failure;
}

}  // namespace

int report_main(std::span<const std::string> words) {
    std::string path, page;
    ListRequest lists;
    bool host = false, no_source = false;
    const auto names = list_names();
    CommandLine line(
        {"report", "[options] PROFILE",
         "Shows the summary of a profile or lists of it, or makes a page of it."},
        {{.names = "PROFILE",
          .help = "a file that shadowprof wrote; - is standard input",
          .set = set_text(path)},
         {.names = "--by",
          .value = "LIST",
          .help = fmt::format("show lists instead: some of {}", fmt::join(names, ", ")),
          .words = names,
          .set = [&](std::string_view value) -> Result<void> {
              TRY_ASSIGN(const auto members, split_list(value));
              lists.by.insert(lists.by.end(), members.begin(), members.end());
              return {};
          },
          .takes_list = true},
         {.names = "--top",
          .value = "N",
          .help = "show this many entries of each list; 0 shows all [20]",
          .set = set_count(lists.top)},
         {.names = "--sort",
          .value = "KEY",
          .help = "what lists are sorted by, such as count or name; the manual lists all keys",
          .words = sort_keys(),
          .set = set_text(lists.sort)},
         {.names = "--filter",
          .value = "NAME",
          .help = "show only entries in functions of this name, which may be a pattern with *, ? "
                  "and []",
          .set = set_checked(lists.places.function, check_name_filter)},
         {.names = "--module",
          .value = "FILE",
          .help = "show only entries in this file of code, by its path or name, which may be a "
                  "pattern",
          .set = set_checked(lists.places.module, check_name_filter)},
         {.names = "--user",
          .help = "leave out the libraries in the system's folders, and the loader",
          .set = set_flag(lists.places.own_only)},
         {.names = "--findings",
          .help = "show instead what could be done about the program's speed, with what may win "
                  "most first; --top N sets how many",
          .set = set_flag(lists.findings)},
         {.names = "--html",
          .value = "FILE",
          .help = "write all of the profile to FILE as one page for browsers, with the code of the "
                  "hottest functions; - is standard output",
          .set = set_file_name(page)},
         {.names = "--weight",
          .value = "WHAT",
          .help = fmt::format("what functions and call stacks are ordered by: {} [{}]",
                              fmt::join(stack_weight_names, " or "), stack_weight_names[0]),
          .words = {stack_weight_names.begin(), stack_weight_names.end()},
          .choose = [&](std::size_t weight) { lists.weight = static_cast<StackWeight>(weight); }},
         {.names = "--no-source",
          .help = "leave the text of source files out of the page of --html",
          .set = set_flag(no_source)},
         {.names = "--host",
          .help = "show how long loads take on this machine; this is measured when it is first "
                  "asked for",
          .set = set_flag(host)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    const bool html = line.has("--html"), weighed = line.has("--weight");
    const bool has_list_options =
        std::ranges::any_of(list_options, [&](const char* name) { return line.has(name); });
    const bool has_lists = has_list_options || line.has("--top");
    if (host && (has_lists || html || weighed || !path.empty()))
        return failed("--host is about this machine and takes no profile");
    if (html && has_lists)
        return failed(
            "--by, --top, --sort, --filter, --module and --user cannot be used with --html, whose "
            "page has all lists");
    if (no_source && !html) return failed("--no-source needs --html");
    if (host) return report_host();
    if (path.empty()) return failed("PROFILE is required; try 'shadowprof report --help'");
    if (lists.findings && (has_list_options || html || weighed))
        return failed("--findings can be combined with --top only");
    if (lists.by.empty() && has_lists && !lists.findings) lists.by = {"function"};
    auto shown = check(lists);
    if (shown)
        shown = html ? write_page(path, page, {.source = !no_source, .weight = lists.weight})
                     : report_profile(path, lists, text_options(STDOUT_FILENO), stdout);
    return shown ? 0 : failed(shown.error().message);
}

}  // namespace shadowprof
