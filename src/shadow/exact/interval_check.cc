#include "shadow/exact/interval_check.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "ptrace/remote/rseq_area.h"
#include "ptrace/replica/unforked_memory.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/exact/state_comparison.h"

namespace shadowprof {
namespace {

using Advance = StoppedThread::Advance;

// A copy that has not come to the interval's end after this time does not come there.
constexpr std::chrono::seconds longest_native_run{60};
// How long the end of an interval is looked for where it is no call.
constexpr std::chrono::milliseconds longest_way_to_cut{100};

}  // namespace

Result<IntervalCheck> IntervalCheck::begin(ScopedStop& stop, StoppedThread& thread,
                                           const CpuState& cpu, BreakpointKind breakpoints,
                                           Part part, bool may_have_marks) {
    TRY(thread.settle(StoppedThread::OwnSignal::dropped));
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread.extended_state(buffer));
    UnforkedMemory unforked;
    if (may_have_marks) {
        TRY_ASSIGN(unforked, UnforkedMemory::read(thread.tid()));
    }
    TRY_ASSIGN(auto replica, Replica::fork(stop, unforked.ranges));
    TRY_ASSIGN(auto registers, replica.thread().registers());
    store_general(cpu, registers);
    registers.orig_rax = no_syscall;
    TRY(replica.thread().set_registers(registers));
    // A replica has the fork server's extended state.
    TRY(replica.thread().set_extended_state(extended));
    return IntervalCheck(std::move(replica), cpu.rip, breakpoints, part);
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
    TRY(breakpoint->advance(Advance::to_syscall, longest_native_run));
    return true;
}

Result<std::optional<std::vector<std::string>>> IntervalCheck::compare(
    const SampleOutcome& emulated, WorkerProcess& worker) {
    const bool is_cut = part_ == Part::of_turn && emulated.result.end == SampleEnd::size;
    if (is_cut) return compare_at_cut(emulated, worker);
    TRY_ASSIGN(const bool there, run_to(emulated));
    if (!there) return std::optional<Differences>();
    TRY_ASSIGN(auto native, replica_.thread().snapshot());
    // A program that begins to single-step itself stops behind the instruction at which the
    // emulation has ended.
    if ((native.cpu.rflags & trap_flag) != 0) return std::optional<Differences>();
    TRY_ASSIGN(const auto registers, replica_.thread().registers());
    if (replica_.thread().status().kind() == WaitStatus::Kind::syscall_stop)
        native.cpu[Gpr::rax] = registers.orig_rax;
    TRY_ASSIGN(auto found, differences_from(native.cpu, emulated.cpu, worker));
    return std::optional(std::move(found));
}

// The interval has ended in the midst of the program's code. The copy comes by that place again and
// again, and has come to the end when its state is the same.
Result<std::optional<std::vector<std::string>>> IntervalCheck::compare_at_cut(
    const SampleOutcome& emulated, WorkerProcess& worker) {
    auto& thread = replica_.thread();
    // Perhaps nothing was executed.
    if (emulated.cpu.rip == start_) return std::optional<Differences>();
    auto breakpoint = Breakpoint::set(thread, emulated.cpu.rip, breakpoints_);
    if (!breakpoint) return std::optional<Differences>();
    const auto begun = std::chrono::steady_clock::now();
    while (true) {
        const auto left = longest_way_to_cut - (std::chrono::steady_clock::now() - begun);
        if (left <= std::chrono::nanoseconds(0)) return std::optional<Differences>();
        TRY_ASSIGN(const auto stop, breakpoint->advance(Advance::to_syscall, left));
        TRY_ASSIGN(const auto registers, thread.registers());
        CpuState now;
        load_general(now, registers);
        const bool is_halted = std::chrono::steady_clock::now() - begun >= longest_way_to_cut;
        if (!stop.is_there && is_halted) return std::optional<Differences>();
        if (!stop.is_there)
            return std::optional(
                Differences{fmt::format("the hardware has come to {:#x} instead", now.rip.value)});
        if (now.gpr != emulated.cpu.gpr) continue;
        TRY_ASSIGN(const auto native, thread.snapshot());
        auto expected = emulated.cpu;
        ProcessMemory memory(replica_.pid());
        adopt_dead_flags(native.cpu, expected, memory);
        TRY_ASSIGN(auto found, differences_from(native.cpu, expected, worker));
        if (found.empty()) return std::optional(std::move(found));
    }
}

Result<std::vector<std::string>> IntervalCheck::differences_from(const CpuState& native,
                                                                 const CpuState& emulated,
                                                                 WorkerProcess& worker) {
    auto found = differences(native, emulated);
    TRY_ASSIGN(const auto rseq, read_rseq_area(replica_.thread()));
    TRY_ASSIGN(const auto memory,
               of_worker(worker.compare_memory({rseq.start, rseq.end}, replica_.memory_fd())));
    const auto bytes = differences(memory);
    found.insert(found.end(), bytes.begin(), bytes.end());
    return found;
}

}  // namespace shadowprof
