// Checks the emulator against the hardware on a program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shadow/request/run_hooks.h"
#include "shadow/verify/interval_run.h"

namespace shadowprof {

struct VerifyOptions {
    std::vector<std::string> command;
    std::uint64_t max_instructions = 0;  // after these it runs on unverified; 0: no limit
    Narrow narrow = Narrow::after_the_first;
    // Called now and then by another thread, until on_verified; may be empty.
    ProgressListener on_progress;
    std::function<void()> on_verified;  // called once nothing more is verified; may be empty
    // For tests: the emulator sees the lowest bit of this byte of the program's memory inverted.
    GuestAddress flipped;
};

struct VerifyOutcome {
    ExactStats stats;
    std::uint64_t instructions = 0;       // emulated
    std::vector<Divergence> divergences;  // the first ones
    bool limit_reached = false;           // the reason for stats.stopped_early
};

// Runs the program to its end. Errors: those of run_target().
Result<VerifyOutcome> verify_target(const VerifyOptions& options);

}  // namespace shadowprof
