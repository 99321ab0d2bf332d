// shadowprof accuracy: measures a sampled profile against a full one.
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "report/accuracy/accuracy_report.h"

namespace shadowprof {

int accuracy_main(std::span<const std::string> words) {
    AccuracyOptions options;
    CommandLine line(
        {"accuracy", "[options] FULL SAMPLED",
         "Measures a sampled profile against a full one of the same program."},
        {{.names = "FULL",
          .help = "what counts as the truth: a profile of run --mode=exact",
          .set = set_text(options.full),
          .argument = OptionRow::Argument::required},
         {.names = "SAMPLED",
          .help = "what is measured; - is standard input",
          .set = set_text(options.sampled),
          .argument = OptionRow::Argument::required},
         {.names = "--floor",
          .value = "PROFILE",
          .help = "another profile like FULL, from another seed: also show what the metrics are "
                  "for it",
          .set = set_text(options.floor)},
         {.names = "--json",
          .help = "print a JSON object instead of a table",
          .set = set_flag(options.json)},
         {.names = "--top",
          .value = "N",
          .help = "show the N worst entries of each metric [5]",
          .set = set_count(options.top)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    const auto shown = report_accuracy(options, stdout);
    if (shown) return 0;
    say("accuracy: {}", shown.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
