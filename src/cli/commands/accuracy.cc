// shadowprof accuracy: measures a sampled profile against a full one.
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "report/accuracy/accuracy_report.h"

namespace shadowprof {

int accuracy_main(std::span<const std::string> words) {
    CommandLine line("Measures a sampled profile against a full one of the same program.",
                     "shadowprof accuracy");
    AccuracyOptions options;
    std::string top = std::to_string(options.top);
    line.flag("--json", options.json, "print a JSON object instead of a table");
    line.text("--top", top, "show the N worst entries of each metric [5]");
    line.text("--floor", options.floor,
              "show beside each metric what it is of FULL and this profile, which is like FULL "
              "with another seed");
    line.text("FULL", options.full, "the profile that counts as the truth, from `run --mode=exact`")
        .required();
    line.text("SAMPLED", options.sampled, "the profile that is measured; - is standard input")
        .required();
    if (const auto done = line.parse("accuracy", words)) return *done;
    const auto parsed = parse_count(top, 0);
    if (!parsed) {
        say("accuracy: --top: {}", parsed.error().message);
        return exit_own_failure;
    }
    options.top = *parsed;
    const auto shown = report_accuracy(options, stdout);
    if (shown) return 0;
    say("accuracy: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
