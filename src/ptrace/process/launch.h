// Starting a program under ptrace.
#pragma once

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptrace/proc/inherited_limits.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// The signal mask and the ignored signals that shadowprof was started with. The target gets the
// same ones.
class InheritedSignals {
  public:
    // Call it before the process changes any of them.
    static InheritedSignals capture();

    // Async-signal-safe.
    void restore() const;

  private:
    sigset_t mask_{};
    std::array<bool, 65> ignored_{};  // by signal number
};

struct LaunchOptions {
    std::vector<std::string>
        command;  // the program, searched for as execvp does, and its arguments
    InheritedSignals signals;
    InheritedLimits limits = {};
    // Whether to disable address space layout randomisation. Containers' filters often refuse that;
    // has_fixed_addresses() tells.
    bool fixed_addresses = false;
    Forks forks = Forks::detach;
};

// Starts a program with our terminal, process group, standard files and environment. The target is
// stopped before its first instruction, until its resume().
//
// Errors: usage (no command), not_found, permission, unsupported (see check_program), and those of
// fork and exec.
Result<std::unique_ptr<Target>> launch(WaitHub& hub, const LaunchOptions& options);

}  // namespace shadowprof
