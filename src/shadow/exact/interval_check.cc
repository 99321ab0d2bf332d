#include "shadow/exact/interval_check.h"

#include <array>

#include "ptrace/remote/rseq_area.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/exact/state_comparison.h"

namespace shadowprof {
namespace {

using Advance = StoppedThread::Advance;

// A copy that has not come to the interval's end after this time does not come there.
constexpr std::chrono::seconds longest_native_run{60};

}  // namespace

Result<IntervalCheck> IntervalCheck::begin(ScopedStop& stop, StoppedThread& thread,
                                           const CpuState& cpu, BreakpointKind breakpoints) {
    TRY(thread.settle(StoppedThread::OwnSignal::dropped));
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread.extended_state(buffer));
    TRY_ASSIGN(auto replica, Replica::fork(stop));
    TRY_ASSIGN(auto registers, replica.thread().registers());
    store_general(cpu, registers);
    registers.orig_rax = no_syscall;
    TRY(replica.thread().set_registers(registers));
    // A replica has the fork server's extended state.
    TRY(replica.thread().set_extended_state(extended));
    return IntervalCheck(std::move(replica), cpu.rip, breakpoints);
}

// Returns false if the hardware cannot be stopped where the emulation has ended.
Result<bool> IntervalCheck::run_to(const SampleOutcome& emulated) {
    const auto end = emulated.result.end;
    auto& thread = replica_.thread();
    if ((end == SampleEnd::stopped && emulated.result.syscalls != 0) || end == SampleEnd::fault) {
        TRY(thread.set_off(Advance::to_syscall));
        TRY_ASSIGN(const bool stopped, thread.has_stopped(longest_native_run));
        if (!stopped) TRY(thread.halt());
        return true;
    }
    const bool at_place = end == SampleEnd::stopped || end == SampleEnd::unsupported_instruction;
    if (!at_place || emulated.cpu.rip == start_) return false;
    auto breakpoint = Breakpoint::set(thread, emulated.cpu.rip, breakpoints_);
    if (!breakpoint) return false;
    TRY(breakpoint->advance(Advance::to_syscall));
    return true;
}

Result<std::optional<std::vector<std::string>>> IntervalCheck::compare(
    const SampleOutcome& emulated, WorkerProcess& worker) {
    TRY_ASSIGN(const bool there, run_to(emulated));
    if (!there) return std::optional<std::vector<std::string>>();
    TRY_ASSIGN(auto native, replica_.thread().snapshot());
    // A program that begins to single-step itself stops behind the instruction at which the
    // emulation has ended.
    if ((native.cpu.rflags & trap_flag) != 0) return std::optional<std::vector<std::string>>();
    TRY_ASSIGN(const auto registers, replica_.thread().registers());
    if (replica_.thread().status().kind() == WaitStatus::Kind::syscall_stop)
        native.cpu[Gpr::rax] = registers.orig_rax;
    auto found = differences(native.cpu, emulated.cpu);
    TRY_ASSIGN(const auto rseq, read_rseq_area(replica_.thread()));
    TRY_ASSIGN(const auto memory,
               of_worker(worker.compare_memory({rseq.start, rseq.end}, replica_.memory_fd())));
    const auto bytes = differences(memory);
    found.insert(found.end(), bytes.begin(), bytes.end());
    return std::optional(std::move(found));
}

}  // namespace shadowprof
