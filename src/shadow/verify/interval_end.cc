// What ends an interval, and how the program is led there and past it.
#include "decoder/decode_at.h"
#include "decoder/instruction.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/verify/interval_run.h"

namespace shadowprof {
namespace {

bool is_clock_page(const Mapping* mapping) {
    return mapping && mapping->name.starts_with("[vvar");
}

}  // namespace

// Whether the fault was at memory that is mapped, but that nobody can read by way of the kernel:
// clock pages, devices, secret memory, memory past the end of a file.
bool IntervalRun::is_unreadable(const RunResult& result) const {
    const auto* mapping = map_.find(result.fault_address);
    return is_clock_page(mapping) || (mapping && result.signal == SIGBUS);
}

std::optional<IntervalRun::Boundary> IntervalRun::boundary_of(const SampleOutcome& emulated) const {
    switch (emulated.result.end) {
        case SampleEnd::stopped:
            return emulated.result.syscalls ? Boundary::syscall : Boundary::vdso_call;
        case SampleEnd::unsupported_instruction:
            return Boundary::instruction;
        case SampleEnd::fault:
            // The hardware makes the access, and either succeeds or faults itself.
            return is_unreadable(emulated.result) ? Boundary::instruction : Boundary::fault;
        case SampleEnd::size:
            return Boundary::cut;
        default:
            return std::nullopt;
    }
}

Result<IntervalRun::Arrival> IntervalRun::run_natively_to(Boundary boundary,
                                                          const SampleOutcome& emulated) {
    using Kind = NativeRun::Stop::Kind;
    const auto rip = emulated.cpu.rip;
    const auto arrival = [](Result<bool> there) -> Result<Arrival> {
        if (!there) return std::move(there).error();
        return *there ? Arrival::there : Arrival::elsewhere;
    };
    if (boundary == Boundary::syscall)
        return arrival(native_.run_to({.kind = Kind::syscall, .address = rip}));
    if (boundary == Boundary::fault)
        return arrival(native_.run_to(
            {.kind = Kind::fault, .address = rip, .signal = emulated.result.signal}));
    if (boundary == Boundary::cut) return find_cut(emulated);
    TRY_ASSIGN(const auto now, thread_.registers());
    if (now.rip == rip.value) return Arrival::there;
    TRY_ASSIGN(auto breakpoint, native_.set_breakpoint(rip));
    return arrival(native_.run_to(breakpoint));
}

Result<Passage> IntervalRun::pass_end(Arrival arrival, Boundary boundary,
                                      const SampleOutcome& emulated) {
    switch (arrival) {
        case Arrival::there:
            return pass(boundary, emulated);
        case Arrival::elsewhere:
            return pass_elsewhere(emulated);
        case Arrival::out_of_reach:
            return run_to_next_call(
                "it called the vsyscall page, where the hardware cannot be stopped");
        case Arrival::given_up:
            break;
    }
    return leave_to_hardware(emulated.worker_exhausted);
}

Result<Passage> IntervalRun::pass(Boundary boundary, const SampleOutcome& emulated) {
    switch (boundary) {
        case Boundary::syscall:
            ++stats_.boundaries["a system call"];
            return native_.pass_syscall({});
        case Boundary::vdso_call:
            ++stats_.boundaries["a vDSO call"];
            return native_.pass_vdso_call();
        case Boundary::instruction:
            ++stats_.native_instructions;
            // The emulation has left the block before this instruction.
            jumped_ |= emulated.result.end == SampleEnd::fault;
            return pass_instruction(emulated);
        case Boundary::fault:
            ++stats_.boundaries["a fault"];
            return native_.pass_fault();
        case Boundary::cut: {
            ++stats_.boundaries[cut_for_signal_ ? "a signal" : "the limit of instructions"];
            Passage passage;
            TRY(native_.deliver_held(passage));
            return passage;
        }
    }
    return Passage{};
}

// The name under which an access to unreadable memory is counted; there is one for each kind.
std::string IntervalRun::unreadable_name(const SampleOutcome& emulated) const {
    const auto* mapping = map_.find(emulated.result.fault_address);
    if (mapping && mapping->name.starts_with("/secretmem"))
        return "an access to memory that only the program can read (memfd_secret)";
    return is_clock_page(mapping) ? "an access to the kernel's clock pages"
                                  : "an access behind the end of a file or to a device";
}

Result<Passage> IntervalRun::pass_instruction(const SampleOutcome& emulated) {
    const auto at = emulated.cpu.rip;
    ProcessMemory memory(thread_.tid());
    const auto in = decode_at(memory, at);
    const bool faulted = emulated.result.end == SampleEnd::fault;
    const auto* mnemonic = in ? ZydisMnemonicGetString(in->mnemonic()) : "instruction";
    ++stats_.boundaries[faulted ? unreadable_name(emulated) : mnemonic];
    const bool registers_only = in && in->is_nondeterministic() && !in->has_memory_operand();
    return native_.pass_instruction(registers_only);
}

Result<Passage> IntervalRun::pass_elsewhere(const SampleOutcome& emulated) {
    TRY_ASSIGN(const bool stepped, native_.at_foreign_step());
    if (stepped) {
        ++stats_.excluded["the program single-steps itself"];
        anew_ = jumped_ = true;
    } else {
        note_difference({fmt::format("emulated to {:#x}, but the native run came to: {}",
                                     emulated.cpu.rip.value, thread_.status().describe())});
    }
    return native_.pass_whatever();
}

// Lets the program run to its next system call, where it can be followed again.
Result<Passage> IntervalRun::run_to_next_call(std::string why) {
    ++stats_.excluded[std::move(why)];
    anew_ = jumped_ = true;
    TRY(native_.run_to({.kind = NativeRun::Stop::Kind::syscall}));
    return native_.pass_whatever();
}

// Lets the program run natively for about as long as it was emulated, and then past its stop.
Result<Passage> IntervalRun::leave_to_hardware(bool worker_exhausted) {
    std::string why = worker_exhausted ? "code changed more often than the emulator has room for"
                      : cut_for_signal_
                          ? "a signal came in a loop too tight to be stopped in"
                          : "the limit of instructions came in a loop too tight to be stopped in";
    ++stats_.excluded[std::move(why)];
    anew_ = jumped_ = true;
    TRY(native_.run_for(emulated_for_));
    return native_.pass_whatever();
}

}  // namespace shadowprof
