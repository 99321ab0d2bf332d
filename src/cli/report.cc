// shadowprof report: reads a profile and shows its summary.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/messages.h"
#include "cli/parse_words.h"
#include "cli/terminal.h"
#include "report/report_command.h"

namespace shadowprof {

int report_main(std::span<const std::string> words) {
    CLI::App app("Shows the summary of a profile.", "shadowprof report");
    std::string path;
    app.add_option("PROFILE", path, "a file that `shadowprof run` wrote; - is standard input")
        ->required();
    if (const auto done = parse_words(app, "report", words)) return *done;
    const auto shown = report_profile(path, summary_options(STDOUT_FILENO), stdout);
    if (shown) return 0;
    say("report: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
