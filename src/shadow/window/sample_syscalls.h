// Emulates the system calls of samples, inside a worker process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "emu/worker/worker_main.h"
#include "guest_kernel/syscall_emulator.h"
#include "profile/profile.h"

namespace shadowprof {

// The tracer sends SampleRules as the facts of a sample. Everything else is asked for when it is
// needed. A sample without facts ends at its first call.
class EmulatedSyscalls final : public SampleSyscalls {
  public:
    std::unique_ptr<SyscallHandler> begin(std::span<const std::byte> facts,
                                          OutsideChannel& outside) override;
    std::unique_ptr<SyscallHandler> forward(const ProcessLinks& links) override;
    std::vector<std::byte> report(const SyscallHandler& handler) override;
};

// What a worker reports of a sample's system calls. The reader must not trust it.
struct SyscallReport {
    SyscallCounts counts;
    std::string end_reason;  // "NAME: reason" if a call ended the sample

    static std::optional<SyscallReport> parse(std::span<const std::byte> bytes);
};

// Adds `counts` to `stats`, by name and by class. Numbers of no known system call count as
// "unknown".
void add_counts(const SyscallCounts& counts, SyscallStats& stats);

}  // namespace shadowprof
