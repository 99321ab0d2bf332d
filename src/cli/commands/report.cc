// shadowprof report: reads a profile and shows its summary or lists, makes a page of it, or shows
// what is known of the machine.
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/files/safe_output.h"
#include "cli/commands/commands.h"
#include "cli/commands/host_report.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/commands/report_command.h"
#include "report/html/html_report.h"
#include "report/profile_file/profile_reader.h"
#include "shadow/latency/calibrated_host.h"

namespace shadowprof {
namespace {

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

}  // namespace

int report_main(std::span<const std::string> words) {
    CommandLine line("Shows the summary of a profile or lists of it, or makes a page of it.",
                     "shadowprof report");
    std::string path, page, weight{name(StackWeight::instructions)};
    ListRequest lists;
    bool host = false, no_source = false;
    auto profile =
        line.text("PROFILE", path, "a file that `shadowprof run` wrote; - is standard input");
    auto by =
        line.texts("--by", lists.by,
                   fmt::format("show lists instead: some of {}", fmt::join(list_names(), ",")))
            .comma_separated()
            .value_name("LIST")
            .one_value_each();
    auto top =
        line.count("--top", lists.top, "show this many entries of each list; 0 shows all [20]")
            .value_name("N");
    auto sort =
        line.text("--sort", lists.sort,
                  "what lists are sorted by, such as count or name; the manual lists all keys")
            .value_name("KEY");
    auto filter =
        line.text(
                "--filter", lists.filter,
                "show only entries in functions of this name, which may be a pattern with * and ?")
            .value_name("NAME");
    line.flag("--findings", lists.findings,
              "show instead what could be done about the program's speed, with what may win most "
              "first; --top N sets how many");
    auto html =
        line.text("--html", page,
                  "write all of the profile to FILE as one page for browsers, with the code of "
                  "the hottest functions; - is standard output")
            .value_name("FILE");
    auto weighed = line.text("--weight", weight,
                             fmt::format("what functions and call stacks are ordered by: {}",
                                         fmt::join(stack_weight_names, " or ")))
                       .value_name("WHAT")
                       .show_default();
    line.flag("--no-source", no_source, "leave the text of source files out of the page")
        .needs(html);
    line.flag(
        "--host", host,
        "show how long loads take on this machine; this is measured when it is first asked for");
    if (const auto done = line.parse("report", words)) return *done;
    const bool has_lists = by || top || sort || filter;
    if (host && (has_lists || html || profile || weighed)) {
        say("report: --host is about this machine and takes no profile");
        return exit_own_failure;
    }
    if (html && has_lists) {
        say("report: --html has all lists in its page: leave --by, --top, --sort and --filter out");
        return exit_own_failure;
    }
    if (host) return report_host();
    if (path.empty()) {
        say("report: PROFILE is required; try 'shadowprof report --help'");
        return exit_own_failure;
    }
    const auto by_weight = stack_weight(weight);
    if (!by_weight) {
        say("report: {}", by_weight.error().message);
        return exit_own_failure;
    }
    lists.weight = *by_weight;
    const bool has_list_options = by || sort || filter;
    if (lists.findings && (has_list_options || html || weighed)) {
        say("report: --findings goes with --top alone");
        return exit_own_failure;
    }
    if (lists.by.empty() && has_lists && !lists.findings) lists.by = {"function"};
    auto shown = check(lists);
    if (shown)
        shown = html ? write_page(path, page, {.source = !no_source, .weight = lists.weight})
                     : report_profile(path, lists, text_options(STDOUT_FILENO), stdout);
    if (shown) return 0;
    say("report: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
