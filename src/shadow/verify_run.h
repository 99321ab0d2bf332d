// Proves the emulator against the hardware: from each system call to the next, the program runs
// natively and is emulated from the same state; then all registers and every page that the
// emulation wrote to must be the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace shadowprof {

struct VerifyOptions {
    std::vector<std::string> command;
    std::uint64_t max_instructions = 0;  // then the program runs on unverified; 0: no limit
};

// An interval after which emulation and hardware did not agree.
struct Divergence {
    std::uint64_t interval = 0;
    std::vector<std::string> differences;  // "rax: native 0x1, emulated 0x2", ...
};

struct VerifyOutcome {
    std::uint64_t intervals = 0;  // compared
    std::uint64_t diverged = 0;
    std::uint64_t instructions = 0;  // emulated in compared intervals
    std::uint64_t pages_compared = 0;
    std::vector<Divergence> divergences;              // the first ones
    std::map<std::string, std::uint64_t> excluded;    // intervals not compared, by reason
    std::map<std::string, std::uint64_t> boundaries;  // what ended the intervals
    std::uint64_t native_instructions = 0;            // executed by hardware alone: handed over
    std::string stopped_early;                        // why the program was not verified to its end
};

// Runs the program to its end. Errors as those of run_target().
Result<VerifyOutcome> verify_target(const VerifyOptions& options);

}  // namespace shadowprof
