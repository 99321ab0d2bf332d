// shadowprof verify: proves the emulator against the hardware on a program.
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/messages.h"
#include "cli/parse_words.h"
#include "cli/values.h"
#include "shadow/verify_run.h"

namespace shadowprof {
namespace {

constexpr int exit_diverged = 1;

void report(const VerifyOutcome& outcome) {
    say("verify: {} intervals of together {} instructions and {} pages compared, {} diverged",
        outcome.intervals, outcome.instructions, outcome.pages_compared, outcome.diverged);
    for (const auto& [what, times] : outcome.boundaries)
        say("verify:   {} ended by a {}", times, what);
    for (const auto& [reason, times] : outcome.excluded)
        say("verify:   {} not compared: {}", times, reason);
    if (outcome.native_instructions)
        say("verify:   {} instructions left to the hardware", outcome.native_instructions);
    for (const auto& divergence : outcome.divergences)
        for (const auto& line : divergence.differences)
            say("verify: interval {}: {}", divergence.interval, line);
    if (!outcome.stopped_early.empty())
        say("verify: not verified to the end: {}", outcome.stopped_early);
}

}  // namespace

int verify_main(std::span<const std::string> words) {
    CLI::App app("Proves the emulator against the hardware on this program.", "shadowprof verify");
    VerifyOptions options;
    std::string limit = "0";
    app.add_option("--max-instructions", limit,
                   "verify about N instructions, then let the program run on (k, M, G)");
    app.add_option("command", options.command, "the program and its arguments")->required();
    app.positionals_at_end();
    app.prefix_command();
    if (const auto done = parse_words(app, "verify", words)) return *done;
    const auto parsed = parse_count(limit, 0);
    if (!parsed) {
        say("verify: --max-instructions: {}", parsed.error().message);
        return exit_own_failure;
    }
    options.max_instructions = *parsed;
    const auto outcome = verify_target(options);
    if (!outcome) {
        say("verify: {}", outcome.error().message);
        return exit_own_failure;
    }
    report(*outcome);
    return outcome->diverged ? exit_diverged : 0;
}

}  // namespace shadowprof
