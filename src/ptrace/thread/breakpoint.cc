#include "ptrace/thread/breakpoint.h"

#include <sys/prctl.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

using Advance = StoppedThread::Advance;
using Kind = WaitStatus::Kind;

// DR7: enables breakpoint 0 for this thread, on execution.
constexpr std::uint64_t enable_first = 1;
constexpr std::byte int3{0xcc};

Result<long> set_debug_register(pid_t tid, std::size_t number, std::uint64_t value) {
    return ptrace_call(PTRACE_POKEUSER, tid,
                       offsetof(struct user, u_debugreg) + number * sizeof(std::uint64_t), value,
                       "debug register");
}

Result<void> place_in_register(pid_t tid, GuestAddress address) {
    // The address may change only while the breakpoint is disabled.
    TRY(set_debug_register(tid, 7, 0));
    auto placed = set_debug_register(tid, 0, address.value);
    if (placed) placed = set_debug_register(tid, 7, enable_first);
    if (placed) return {};
    if (placed.error().code == ErrorCode::gone) return std::move(placed).error();
    return Error{ErrorCode::unsupported, placed.error().sys_errno,
                 "hardware breakpoints (debug registers) do not work on this machine"};
}

bool is_trap(const WaitStatus& status) {
    return status.kind() == Kind::signal_stop && status.signal() == SIGTRAP;
}

// Replaces the first byte of an instruction by INT3.
class PlacedInstruction {
  public:
    static Result<PlacedInstruction> place(pid_t tid, GuestAddress address) {
        constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
        PlacedInstruction placed(tid, {address.value & ~(word_bytes - 1)});
        std::array<std::byte, word_bytes> bytes;
        if (!ProcessMemory(tid).read(placed.word_, bytes))
            return Error{ErrorCode::system, 0,
                         "the code at which to stop the program cannot be read"};
        std::memcpy(&placed.original_, bytes.data(), bytes.size());
        bytes[address.value % word_bytes] = int3;
        std::uint64_t changed;
        std::memcpy(&changed, bytes.data(), bytes.size());
        TRY(placed.write(changed));
        placed.is_placed_ = true;
        return placed;
    }
    PlacedInstruction(PlacedInstruction&& other) noexcept
        : tid_(other.tid_),
          word_(other.word_),
          original_(other.original_),
          is_placed_(std::exchange(other.is_placed_, false)) {}
    PlacedInstruction& operator=(PlacedInstruction&&) = delete;
    // Needs a thread that is stopped or gone.
    ~PlacedInstruction() {
        if (is_placed_) (void)write(original_);
    }

  private:
    PlacedInstruction(pid_t tid, GuestAddress word) : tid_(tid), word_(word) {}

    // Also writes where the program itself may not.
    Result<long> write(std::uint64_t value) const {
        return ptrace_call(PTRACE_POKETEXT, tid_, word_.value, value, "breakpoint");
    }

    pid_t tid_;
    GuestAddress word_;
    std::uint64_t original_ = 0;
    bool is_placed_ = false;
};

// Halts the thread if it has not stopped after `most`.
Result<WaitStatus> advance_for(StoppedThread& thread, Advance how, std::chrono::nanoseconds most) {
    if (most == Breakpoint::unlimited) return thread.advance(how);
    TRY(thread.set_off(how));
    TRY_ASSIGN(const bool stopped, thread.has_stopped(most));
    if (!stopped) TRY(thread.halt());
    return thread.status();
}

Result<LedStop> run_to_instruction(StoppedThread& thread, GuestAddress address, Advance how,
                                   std::chrono::nanoseconds most = Breakpoint::unlimited) {
    TRY_ASSIGN(const auto placed, PlacedInstruction::place(thread.tid(), address));
    TRY_ASSIGN(const auto status, advance_for(thread, how, most));
    if (!is_trap(status)) return LedStop{status};
    TRY_ASSIGN(auto registers, thread.registers());
    TRY_ASSIGN(const auto info, thread.signal_info());
    if (info.si_code != SI_KERNEL || registers.rip != address.value + 1) return LedStop{status};
    registers.rip = address.value;
    TRY(thread.set_registers(registers));
    return LedStop{status, true};
}

// The kind of the next instruction, as far as it matters for a step.
enum class Ahead : std::uint8_t { other, repeated, system_call, cpuid, pushf };

struct AheadBytes {
    Ahead kind = Ahead::other;
    std::uint64_t length = 0;  // for CPUID and PUSHF
};

AheadBytes look_ahead(pid_t tid, GuestAddress at) {
    constexpr std::array system_call = {std::byte{0x0f}, std::byte{0x05}};
    constexpr std::array cpuid = {std::byte{0x0f}, std::byte{0xa2}};
    constexpr std::byte operand_size{0x66}, rex{0x40}, rex_mask{0xf0}, pushf{0x9c};
    std::array<std::byte, 4> bytes{};
    (void)ProcessMemory(tid).read(at, bytes);
    const auto begins_with = [&](const auto& code) {
        return std::ranges::equal(std::span(bytes).first(code.size()), code);
    };
    if (begins_with(system_call)) return {Ahead::system_call};
    if (begins_with(cpuid)) return {Ahead::cpuid, cpuid.size()};
    if (bytes[0] == std::byte{0xf2} || bytes[0] == std::byte{0xf3}) return {Ahead::repeated};
    std::size_t prefixes = 0;
    while (prefixes + 1 < bytes.size() &&
           (bytes[prefixes] == operand_size || (bytes[prefixes] & rex_mask) == rex))
        ++prefixes;
    return bytes[prefixes] == pushf ? AheadBytes{Ahead::pushf, prefixes + 1} : AheadBytes{};
}

[[gnu::noinline]] void be_watched() {
    asm volatile("");
}

// Returns 0 or less on an error.
pid_t fork_traced_child() {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    be_watched();
    _exit(0);
}

}  // namespace

Result<Breakpoint> Breakpoint::set(StoppedThread& thread, GuestAddress address,
                                   BreakpointKind kind) {
    if (kind == BreakpointKind::debug_register) TRY(place_in_register(thread.tid(), address));
    return Breakpoint(thread, address, kind);
}

Breakpoint::Breakpoint(Breakpoint&& other) noexcept
    : thread_(std::exchange(other.thread_, nullptr)),
      address_(other.address_),
      kind_(other.kind_),
      was_advanced_(other.was_advanced_) {}

Breakpoint::~Breakpoint() {
    if (thread_ && kind_ == BreakpointKind::debug_register)
        (void)set_debug_register(thread_->tid(), 7, 0);
}

Result<LedStop> Breakpoint::advance(Advance how, std::chrono::nanoseconds most) {
    if (kind_ == BreakpointKind::debug_register) {
        TRY_ASSIGN(const auto status, advance_for(*thread_, how, most));
        if (!is_trap(status)) return LedStop{status};
        TRY_ASSIGN(const auto info, thread_->signal_info());
        return LedStop{status, info.si_code == TRAP_HWBKPT};
    }
    TRY_ASSIGN(const auto now, thread_->registers());
    const bool is_first = !std::exchange(was_advanced_, true);
    if (now.rip == address_.value) {
        if (is_first) return LedStop{thread_->status(), true};
        TRY_ASSIGN(const auto passed, pass(most));
        if (!passed.goes_on) return passed.stop;
    }
    return run_to_instruction(*thread_, address_, how, most);
}

// Executes the instruction at the address, where the thread is; if it is repeated, for `most`.
Result<Breakpoint::Passed> Breakpoint::pass(std::chrono::nanoseconds most) {
    const auto begun = std::chrono::steady_clock::now();
    const auto [ahead, length] = look_ahead(thread_->tid(), address_);
    if (ahead == Ahead::system_call) {
        TRY_ASSIGN(const auto status, thread_->advance(Advance::to_syscall));
        return Passed{.stop = {status}};
    }
    // A single-step would make PUSHF store the trap flag.
    if (ahead == Ahead::pushf) {
        TRY_ASSIGN(const auto stop,
                   run_to_instruction(*thread_, address_ + length, Advance::to_syscall));
        return Passed{.stop = {stop.status}, .goes_on = stop.is_there};
    }
    while (true) {
        TRY_ASSIGN(const auto stepped, step(*thread_));
        if (!stepped.is_there) return Passed{.stop = {stepped.status}};
        TRY_ASSIGN(const auto now, thread_->registers());
        if (now.rip != address_.value) return Passed{.stop = {stepped.status}, .goes_on = true};
        // The instruction jumps to itself, and so has reached the address again.
        if (ahead != Ahead::repeated) return Passed{.stop = {stepped.status, true}};
        if (std::chrono::steady_clock::now() - begun > most)
            return Passed{.stop = {stepped.status}};
    }
}

Result<LedStop> step(StoppedThread& thread) {
    TRY_ASSIGN(const auto before, thread.registers());
    if (const auto [ahead, length] = look_ahead(thread.tid(), {before.rip});
        ahead == Ahead::cpuid) {
        auto stop = run_to_instruction(thread, {before.rip + length}, Advance::run);
        if (stop || stop.error().code == ErrorCode::gone) return stop;
    }
    TRY_ASSIGN(const auto status, thread.advance(Advance::one_instruction));
    if (!is_trap(status)) return LedStop{status};
    TRY_ASSIGN(const auto info, thread.signal_info());
    return LedStop{status, info.si_code == TRAP_TRACE};
}

BreakpointKind measure_breakpoint_kind(WaitHub& hub) {
    using enum BreakpointKind;
    const pid_t child = fork_traced_child();
    if (child <= 0) return debug_register;
    bool is_met = false;
    if (const auto status = hub.wait_for(child); status && !status->is_end()) {
        StoppedThread thread(hub, child, *status);
        const GuestAddress place{reinterpret_cast<std::uintptr_t>(&be_watched)};
        if (auto breakpoint = Breakpoint::set(thread, place, debug_register)) {
            const auto stop = breakpoint->advance(Advance::run);
            is_met = stop && stop->is_there;
        }
    }
    kill(child, SIGKILL);
    (void)hub.reap(child);
    return is_met ? debug_register : instruction;
}

}  // namespace shadowprof
