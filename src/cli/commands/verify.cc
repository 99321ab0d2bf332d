// shadowprof verify: proves the emulator against the hardware on a program.
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/values.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/signal_action.h"
#include "shadow/exact/verify_run.h"

namespace shadowprof {
namespace {

constexpr int exit_diverged = 1;

void report(const VerifyOutcome& outcome) {
    const auto& stats = outcome.stats;
    say("verify: {} intervals of together {} instructions and {} pages compared, {} diverged",
        stats.intervals, outcome.instructions, stats.pages_compared, stats.diverged);
    for (const auto& [what, times] : stats.boundaries) say("verify:   {} ended by {}", times, what);
    for (const auto& [reason, times] : stats.excluded)
        say("verify:   {} not compared: {}", times, reason);
    if (stats.native_instructions)
        say("verify:   {} instructions left to the hardware", stats.native_instructions);
    if (stats.signals)
        say("verify:   {} signals from outside held to the end of an interval", stats.signals);
    for (const auto& divergence : outcome.divergences)
        for (const auto& line : divergence.differences)
            say("verify: interval {}: {}", divergence.interval, line);
    if (!stats.stopped_early.empty())
        say("verify: not verified to the end: {}", stats.stopped_early);
}

// 0 says that all of the program, or as much as the user wanted, was proven.
int exit_status(const VerifyOutcome& outcome) {
    const auto& stats = outcome.stats;
    const bool whole = stats.stopped_early.empty() || outcome.limit_reached;
    const bool proven = stats.diverged == 0 && stats.intervals != 0 && whole;
    return proven ? 0 : exit_diverged;
}

}  // namespace

int verify_main(std::span<const std::string> words) {
    CommandLine line("Proves the emulator against the hardware on this program.",
                     "shadowprof verify");
    VerifyOptions options;
    std::string limit = "0";
    line.text("--max-instructions", limit,
              "verify about N instructions, also with k, M or G, then let the program run on");
    bool narrow = false;
    line.flag(
        "--narrow", narrow,
        "also look for the first wrong instruction of the first divergence, not only of later "
        "ones; this is slower");
    std::string fault;
    line.text("--fault", fault,
              "for tests: the emulator sees the byte at this address with its lowest bit inverted");
    line.texts("command", options.command, "the program and its arguments").required();
    line.end_options_at_argument();
    if (const auto done = line.parse("verify", words)) return *done;
    const auto parsed = parse_count(limit, 0);
    if (!parsed) {
        say("verify: --max-instructions: {}", parsed.error().message);
        return exit_own_failure;
    }
    options.max_instructions = *parsed;
    if (narrow) options.narrow = Narrow::always;
    if (!fault.empty()) {
        const auto address = parse_u64(fault);
        if (!address) {
            say("verify: --fault: {}", address.error().message);
            return exit_own_failure;
        }
        options.flipped = {*address};
    }
    survive_closed_pipes();
    const auto outcome = verify_target(options);
    if (!outcome) {
        say("verify: {}", outcome.error().message);
        return exit_own_failure;
    }
    report(*outcome);
    return exit_status(*outcome);
}

}  // namespace shadowprof
