// shadowprof report: shows a profile's summary or lists, writes an HTML page of it, or shows what
// is known of the machine.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/files/safe_output.h"
#include "base/text/text_format.h"
#include "cli/commands/commands.h"
#include "cli/commands/host_report.h"
#include "cli/commands/open_page.h"
#include "cli/options/command_line.h"
#include "cli/options/profile_argument.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/work_line.h"
#include "report/commands/report_command.h"
#include "report/html/html_report.h"
#include "report/lists/name_filter.h"
#include "report/profile_file/profile_reader.h"
#include "shadow/latency/calibrated_host.h"

namespace shadowprof {
namespace {

// They are for lists alone.
constexpr const char* list_options[] = {"--by", "--sort", "--filter", "--module", "--user"};

struct Request {
    std::string path, page;
    ReportRequest report;
    bool host = false, no_source = false, json = false, opens = false;
};

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

Error misused(std::string message) {
    return {ErrorCode::usage, 0, std::move(message)};
}

// Checks that the options that were given go together.
Result<void> check_together(const Request& request, const CommandLine& line) {
    const bool page = line.has("--html") || request.opens, weighed = line.has("--weight");
    const bool has_list_options =
        std::ranges::any_of(list_options, [&](const char* name) { return line.has(name); });
    const bool has_lists = has_list_options || line.has("--top");
    if (request.host && (has_lists || page || weighed || request.json || !request.path.empty()))
        return misused("--host is about this machine and takes no profile");
    if (page && (has_lists || request.json))
        return misused(
            "--by, --top, --sort, --filter, --module, --user and --json cannot be used with --html "
            "or --open, whose page has all lists");
    if (request.no_source && !page) return misused("--no-source needs --html or --open");
    if (request.opens && request.page == "-")
        return misused("--open needs a page in a file; leave --html=- out, or name a file");
    if (request.host) return {};
    if (request.report.lists.findings && (has_list_options || page || weighed || request.json))
        return misused("--findings can be combined with --top only");
    return {};
}

// Returns the page's final name.
Result<std::string> write_page(const Request& request, ProfileFile& file, const std::string& page,
                               WorkLine& line) {
    TRY_ASSIGN(const StackWeight weight, choose_weight(file.profile, request.report.weight));
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(page));
    WatchedSink watched(output, line, "writing the page");
    const bool is_shared = page == "-" && isatty(STDOUT_FILENO) != 0;
    TRY(write_html(file, {.source = !request.no_source, .weight = weight},
                   is_shared ? static_cast<ByteSink&>(output) : watched));
    return output.commit(static_cast<pid_t>(file.profile.run.pid));
}

// A page without a name gets a folder of its own, which an error does not leave behind. Returns the
// page's final name.
Result<std::string> make_page(const Request& request) {
    WorkLine line(stderr, isatty(STDERR_FILENO) != 0);
    TRY_ASSIGN(ProfileFile file, read_profile(request.path, reading_on(line)));
    if (!request.page.empty()) return write_page(request, file, request.page, line);
    TRY_ASSIGN(const std::string fresh, fresh_page());
    auto written = write_page(request, file, fresh, line);
    if (!written) remove_fresh_page(fresh);
    return written;
}

// A page that cannot be opened is none the worse.
Result<void> write_and_open_page(const Request& request) {
    TRY_ASSIGN(const std::string page, make_page(request));
    const auto opened = open_in_browser(page);
    if (opened)
        say("report: the page is in '{}', opened by {}", printable(page), printable(*opened));
    else
        say("report: the page is in '{}', and was not opened: {}", printable(page),
            printable(opened.error().message));
    return {};
}

Result<void> make_report(const Request& request) {
    if (request.opens) return write_and_open_page(request);
    if (!request.page.empty()) {
        TRY(make_page(request));
        return {};
    }
    WorkLine line(stderr, isatty(STDERR_FILENO) != 0);
    const auto on_read = reading_on(line);
    if (request.json) return report_json(request.path, request.report, STDOUT_FILENO, on_read);
    return report_profile(request.path, request.report, text_options(STDOUT_FILENO), stdout,
                          on_read);
}

int failed(std::string_view message) {
    say("report: {}", message);
    return exit_own_failure;
}

}  // namespace

int report_main(std::span<const std::string> words) {
    Request request;
    ListRequest& lists = request.report.lists;
    const auto names = list_names();
    CommandLine line(
        {"report", "[options] [PROFILE]",
         "Shows the summary of a profile or lists of it, or makes a page of it."},
        {profile_argument(request.path),
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
          .set = set_file_name(request.page)},
         {.names = "--open",
          .help =
              "make that page, in a new file unless --html names one, and open it with $BROWSER "
              "or xdg-open",
          .set = set_flag(request.opens)},
         {.names = "--json",
          .help = "print lists as JSON, for scripts; the manual lists all members",
          .set = set_flag(request.json)},
         {.names = "--weight",
          .value = "WHAT",
          .help = fmt::format("what functions and call stacks are ordered by: {} [time, where it "
                              "is known]",
                              fmt::join(stack_weight_names, " or ")),
          .words = {stack_weight_names.begin(), stack_weight_names.end()},
          .choose =
              [&](std::size_t weight) {
                  request.report.weight = static_cast<StackWeight>(weight);
              }},
         {.names = "-v,--verbose",
          .help = "say in the summary how samples were taken, and what each part cost",
          .set = set_flag(request.report.is_verbose)},
         {.names = "--no-source",
          .help = "leave the text of source files out of the page",
          .set = set_flag(request.no_source)},
         {.names = "--host",
          .help = "show how long loads take on this machine; this is measured when it is first "
                  "asked for",
          .set = set_flag(request.host)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    if (const auto fits = check_together(request, line); !fits) return failed(fits.error().message);
    if (request.host) return report_host();
    if (request.path.empty()) {
        auto unnamed = unnamed_profile("report");
        if (!unnamed) return failed(unnamed.error().message);
        request.path = *std::move(unnamed);
    }
    const bool wants_lists =
        line.has("--top") || request.json ||
        std::ranges::any_of(list_options, [&](const char* name) { return line.has(name); });
    if (lists.by.empty() && wants_lists && !lists.findings) lists.by = {"function"};
    auto shown = check(lists);
    if (shown) shown = make_report(request);
    return shown ? 0 : failed(shown.error().message);
}

}  // namespace shadowprof
