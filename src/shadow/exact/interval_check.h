// Proves an interval of the emulation: a copy of the program's process runs over it natively, and
// what both have come to is compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_state.h"
#include "base/result.h"
#include "emu/worker/worker_process.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/replica.h"
#include "ptrace/thread/breakpoint.h"

namespace shadowprof {

class IntervalCheck {
  public:
    enum class Part : std::uint8_t { whole, of_turn };  // how the emulation will end: see RunCalls

    // `thread` stands in user mode with the program's state, which is `cpu`, and its process has
    // the program's memory. The first thread of `stop` is in a trap: the copy is made through it.
    // No writable memory may be shared with others. `may_have_marks`: forks of the process may
    // leave memory out, which the copy must have (unforked_memory.h). Errors: those of
    // UnforkedMemory::read() and Replica::fork().
    static Result<IntervalCheck> begin(ScopedStop& stop, StoppedThread& thread, const CpuState& cpu,
                                       BreakpointKind breakpoints, Part part, bool may_have_marks);

    // Runs the copy to where the emulation of the interval ended. Returns the differences; nothing
    // if the hardware cannot be stopped there. Errors: those of the worker.
    Result<std::optional<std::vector<std::string>>> compare(const SampleOutcome& emulated,
                                                            WorkerProcess& worker);

  private:
    IntervalCheck(Replica replica, GuestAddress start, BreakpointKind breakpoints, Part part)
        : replica_(std::move(replica)), start_(start), breakpoints_(breakpoints), part_(part) {}
    using Differences = std::vector<std::string>;

    Result<bool> run_to(const SampleOutcome& emulated);
    Result<std::optional<Differences>> compare_at_cut(const SampleOutcome& emulated,
                                                      WorkerProcess& worker);
    Result<Differences> differences_from(const CpuState& native, const CpuState& emulated,
                                         WorkerProcess& worker);

    Replica replica_;
    GuestAddress start_;
    BreakpointKind breakpoints_;
    Part part_;
};

}  // namespace shadowprof
