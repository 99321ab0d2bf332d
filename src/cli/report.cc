// shadowprof report: reads a profile and shows its summary, or shows what is known of the machine.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/host_report.h"
#include "cli/messages.h"
#include "cli/parse_words.h"
#include "cli/terminal.h"
#include "report/report_command.h"
#include "shadow/latency/calibration.h"

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
    fmt::print("{}", host_report(*calibration));
    return 0;
}

}  // namespace

int report_main(std::span<const std::string> words) {
    CLI::App app("Shows the summary of a profile.", "shadowprof report");
    std::string path;
    bool host = false;
    auto* profile =
        app.add_option("PROFILE", path, "a file that `shadowprof run` wrote; - is standard input");
    auto* flag = app.add_flag("--host", host,
                              "how long loads take on this machine; measured when first asked for");
    flag->excludes(profile);
    if (const auto done = parse_words(app, "report", words)) return *done;
    if (host) return report_host();
    if (path.empty()) {
        say("report: PROFILE is required; try 'shadowprof report --help'");
        return exit_own_failure;
    }
    const auto shown = report_profile(path, summary_options(STDOUT_FILENO), stdout);
    if (shown) return 0;
    say("report: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
