// shadowprof verify: compares the emulator with the hardware on a program.
#include <unistd.h>

#include <optional>

#include "base/text/numbered.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/signal_action.h"
#include "shadow/verify/verify_run.h"

namespace shadowprof {
namespace {

constexpr int exit_diverged = 1;

void report(const VerifyOutcome& outcome) {
    const auto& stats = outcome.stats;
    say("verify: {} with {} and {} compared, {} diverged", numbered(stats.intervals, "interval"),
        numbered(outcome.instructions, "instruction"), numbered(stats.pages_compared, "page"),
        stats.diverged);
    for (const auto& [what, times] : stats.boundaries) say("verify:   {} ended by {}", times, what);
    for (const auto& [reason, times] : stats.excluded)
        say("verify:   {} not compared: {}", times, reason);
    if (stats.native_instructions)
        say("verify:   {} left to the hardware",
            numbered(stats.native_instructions, "instruction"));
    if (stats.signals)
        say("verify:   {} from outside held to the end of an interval",
            numbered(stats.signals, "signal"));
    for (const auto& divergence : outcome.divergences)
        for (const auto& line : divergence.differences)
            say("verify: interval {}: {}", divergence.interval, line);
    if (!stats.stopped_early.empty())
        say("verify: not verified to the end: {}", stats.stopped_early);
}

Result<VerifyOutcome> verify(VerifyOptions options, bool shows_progress) {
    RunLimit limit;
    if (options.max_instructions != 0) limit.instructions = options.max_instructions;
    std::optional<ProgressLine> line;
    if (shows_progress) {
        line.emplace(stderr, isatty(STDERR_FILENO) != 0, limit);
        options.on_progress = [&](const RunProgress& now) { line->show(now); };
        options.on_verified = [&] { line.reset(); };
    }
    return verify_target(options);
}

// Status 0 means that the whole program, or as much as the user wanted, was proven.
int exit_status(const VerifyOutcome& outcome) {
    const auto& stats = outcome.stats;
    const bool whole = stats.stopped_early.empty() || outcome.limit_reached;
    const bool proven = stats.diverged == 0 && stats.intervals != 0 && whole;
    return proven ? 0 : exit_diverged;
}

}  // namespace

int verify_main(std::span<const std::string> words) {
    VerifyOptions options;
    bool shows_progress = false;
    CommandLine line(
        {"verify", "[options] [--] PROGRAM [ARG...]",
         "Proves the emulator against the hardware on this program."},
        {{.names = "PROGRAM",
          .help = "the program and its arguments",
          .set = add_text(options.command),
          .argument = OptionRow::Argument::one_or_more},
         {.names = "--max-instructions",
          .value = "N",
          .help = "verify about N instructions, also with k, M or G, then let the program run on "
                  "[no limit]",
          .set = set_count(options.max_instructions)},
         {.names = "--narrow",
          .help = "also look for the first wrong instruction of the first divergence, not only of "
                  "later ones; this is slower",
          .set = [&](std::string_view) -> Result<void> {
              options.narrow = Narrow::always;
              return {};
          }},
         {.names = "--progress",
          .help = "show on standard error how far it is, even if the program may write there, too",
          .set = set_flag(shows_progress)},
         {.names = "--fault",
          .value = "ADDRESS",
          .help = "for tests: the emulator sees the byte at this address with its lowest bit "
                  "inverted",
          .set = [&](std::string_view value) -> Result<void> {
              TRY_ASSIGN(options.flipped.value, parse_u64(value));
              return {};
          }}});
    if (const auto done = line.parse(words, exit_own_failure, CommandLine::Options::before_command))
        return *done;
    survive_failed_writes();
    const auto outcome = verify(std::move(options), shows_progress);
    if (!outcome) {
        say("verify: {}", outcome.error().message);
        return exit_own_failure;
    }
    report(*outcome);
    return exit_status(*outcome);
}

}  // namespace shadowprof
