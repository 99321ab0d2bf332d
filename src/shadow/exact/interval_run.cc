#include "shadow/exact/interval_run.h"

#include <algorithm>

#include "decoder/instruction.h"
#include "ptrace/hardware_breakpoint.h"
#include "ptrace/process_memory.h"
#include "ptrace/rseq_area.h"
#include "ptrace/thread_registers.h"
#include "shadow/exact/kernel_writes.h"
#include "shadow/exact/narrowing.h"
#include "shadow/exact/state_comparison.h"

namespace shadowprof {
namespace {

constexpr std::size_t kept_divergences = 20;
// Times what the last comparison took.
constexpr int time_between_comparisons = 24;
// An interval is cut before a block that is rare among this many.
constexpr std::uint64_t longest_cut_window = std::uint64_t{4} << 20;
constexpr std::uint64_t shortest_cut_window = 1024;
constexpr std::uint64_t cut_windows_in_limit = 32;

// Programs have no breakpoints in the kernel's half of the address space.
constexpr GuestAddress highest_breakpoint{0x7fff'ffff'ffff};

bool is_clock_page(const Mapping* mapping) {
    return mapping && mapping->name.starts_with("[vvar");
}

}  // namespace

IntervalRun::IntervalRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                         const IntervalOptions& options, ExactStats& stats,
                         std::vector<Divergence>& divergences)
    : stop_(stop),
      thread_(stop.threads().front()),
      worker_(worker),
      consumer_(consumer),
      options_(options),
      stats_(stats),
      divergences_(divergences),
      native_(stop.target(), thread_) {}

Result<void> IntervalRun::run() {
    auto followed = follow();
    if (!followed && followed.error().code == ErrorCode::gone) return followed;
    const auto released = native_.release();
    return followed ? released : followed;
}

Result<void> IntervalRun::follow() {
    while (true) {
        if (options_.on_tick) options_.on_tick();
        TRY(check_given_up());
        if (!bound_interval()) return {};
        TRY_ASSIGN(const bool goes_on, interval());
        if (!goes_on) return {};
    }
}

// False: no more instructions are to be followed.
bool IntervalRun::bound_interval() {
    bounds_ = {.cut_window = longest_cut_window};
    if (!options_.instructions_left) return true;
    consumer_.drain();
    const auto left = options_.instructions_left();
    if (left == 0) {
        stats_.stopped_early = "the limit of instructions was reached";
        return false;
    }
    bounds_ = {left,
               std::clamp(left / cut_windows_in_limit, shortest_cut_window, longest_cut_window)};
    return true;
}

Result<void> IntervalRun::check_given_up() const {
    if (!options_.is_given_up || !options_.is_given_up()) return {};
    return Error{ErrorCode::interrupted, 0, "shadowprof was told to end"};
}

// Emulates to the next boundary, lets the program run there, compares, and passes the boundary.
// False: the program cannot be followed any further.
Result<bool> IntervalRun::interval() {
    TRY_ASSIGN(const auto start, thread_.snapshot());
    if (start.cpu.rflags & trap_flag) {
        // It gets a SIGTRAP for each instruction: only the hardware can do that.
        TRY_ASSIGN(auto passage, run_to_next_call("the program single-steps itself"));
        return prepare_next(std::move(passage));
    }
    if (wants_replica()) TRY(take_replica());
    const auto diverged_before = stats_.diverged;
    // The program may have died of what diverged.
    auto result = interval_from(start.cpu);
    if (stats_.diverged != diverged_before) narrow_down(start.cpu);
    replica_.reset();
    return result;
}

Result<bool> IntervalRun::interval_from(const CpuState& start) {
    TRY_ASSIGN(const auto emulated, emulate(start));
    const auto boundary = boundary_of(emulated);
    if (!boundary) {
        stats_.stopped_early = fmt::format("the emulation ended at {:#x} by {}",
                                           emulated.cpu.rip.value, name(emulated.result.end));
        return false;
    }
    const bool is_out_of_reach =
        *boundary == Boundary::vdso_call && emulated.cpu.rip > highest_breakpoint;
    Result<Arrival> arrival = Arrival::out_of_reach;
    if (!is_out_of_reach) arrival = run_natively_to(*boundary, emulated);
    if (!arrival) return std::move(arrival).error();
    ++stats_.intervals;
    native_end_ = {};
    if (*arrival == Arrival::there) {
        TRY_ASSIGN(auto found, compare(*boundary, emulated, &native_end_.bytes));
        if (!found.empty()) note_divergence(std::move(found));
    }
    TRY_ASSIGN(auto passage, pass_end(*arrival, *boundary, emulated));
    if (emulated.worker_exhausted) TRY(replace_worker());
    return prepare_next(std::move(passage));
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

// The kernel has written below what the stack was: it has grown.
bool IntervalRun::has_stack_grown(const std::vector<MemoryRange>& writes) const {
    return std::ranges::any_of(writes, [&](const MemoryRange& range) {
        const auto* next = map_.find_at_or_after(range.start);
        return next && range.start < next->start && next->name == "[stack]" &&
               range.start < range.end;
    });
}

// What the next interval has to know of what happened in between.
Result<bool> IntervalRun::prepare_next(Passage passage) {
    stats_.signals = native_.signals_held();
    if (!passage.blocked.empty()) {
        stats_.stopped_early = std::move(passage.blocked);
        return false;
    }
    const bool all = std::any_of(passage.writes.ranges.begin(), passage.writes.ranges.end(),
                                 [](const MemoryRange& range) { return range.is_all(); });
    changed_ = all ? std::vector{MemoryRange::all()} : std::move(passage.writes.ranges);
    layout_changed_ |= passage.writes.layout || has_stack_grown(changed_);
    anew_ |= passage.executed;
    jumped_ |= passage.jumped || passage.executed;
    return true;
}

// It faulted at memory that is mapped, but that nobody can read by way of the kernel: clock pages,
// devices, secret memory, what is behind the end of a file.
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
            // The hardware makes the access: it can read there, or faults itself.
            return is_unreadable(emulated.result) ? Boundary::instruction : Boundary::fault;
        case SampleEnd::size:
            return Boundary::cut;
        default:
            return std::nullopt;
    }
}

Result<Passage> IntervalRun::pass_elsewhere(const SampleOutcome& emulated) {
    TRY_ASSIGN(const bool stepped, native_.at_foreign_step());
    if (stepped) {
        ++stats_.excluded["the program single-steps itself"];
        anew_ = jumped_ = true;
    } else {
        note_divergence({fmt::format("emulated to {:#x}, but the native run came to: {}",
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
    TRY_ASSIGN(const auto breakpoint, HardwareBreakpoint::set(thread_, rip));
    return arrival(native_.run_to({.kind = Kind::breakpoint, .address = rip}));
}

Result<std::vector<std::string>> IntervalRun::compare(Boundary boundary,
                                                      const SampleOutcome& emulated,
                                                      std::vector<MemoryDifference>* bytes) {
    TRY_ASSIGN(auto found, compare_registers(boundary, emulated));
    TRY_ASSIGN(const bool due, is_memory_due(boundary, emulated));
    if (due || !found.empty()) {
        TRY_ASSIGN(const auto memory, compare_memory(bytes));
        found.insert(found.end(), memory.begin(), memory.end());
    }
    if (!found.empty())
        found.insert(found.begin(), fmt::format("ended at {:#x}", emulated.cpu.rip.value));
    return found;
}

Result<std::vector<std::string>> IntervalRun::compare_registers(Boundary boundary,
                                                                const SampleOutcome& emulated) {
    TRY_ASSIGN(auto native, thread_.snapshot());
    if (boundary == Boundary::syscall) {
        // The kernel has put -ENOSYS into RAX already.
        TRY_ASSIGN(const auto registers, thread_.registers());
        native.cpu[Gpr::rax] = registers.orig_rax;
    }
    native_end_.cpu = native.cpu;
    auto emulated_cpu = emulated.cpu;
    if (boundary == Boundary::cut) {
        ProcessMemory memory(thread_.tid());
        adopt_dead_flags(native.cpu, emulated_cpu, memory);
    }
    return differences(native.cpu, emulated_cpu);
}

// All memory that was written to since it was last done.
Result<std::vector<std::string>> IntervalRun::compare_memory(std::vector<MemoryDifference>* bytes) {
    const auto begin = Clock::now();
    // The kernel writes there when it preempts the thread.
    TRY_ASSIGN(const auto rseq, read_rseq_area(thread_));
    TRY_ASSIGN(const auto memory, of_worker(worker_->compare_memory({rseq.start, rseq.end})));
    auto found = differences(memory);
    if (bytes) bytes->insert(bytes->end(), memory.differences, memory.differences + found.size());
    if (memory.pages_unreadable)
        found.push_back(fmt::format("{} pages that were written to are not there natively",
                                    memory.pages_unreadable));
    stats_.pages_compared += memory.pages_compared;
    const auto end = Clock::now();
    memory_due_ = end + time_between_comparisons * (end - begin);
    return found;
}

// Whether what was written must be compared before the boundary is passed.
Result<bool> IntervalRun::is_memory_due(Boundary boundary, const SampleOutcome& emulated) const {
    if (options_.comparison == MemoryComparison::each_interval || Clock::now() >= memory_due_ ||
        emulated.worker_exhausted ||
        (boundary != Boundary::syscall && boundary != Boundary::vdso_call))
        return true;
    if (shares_memory()) return true;
    if (boundary == Boundary::vdso_call) return false;
    TRY_ASSIGN(const auto registers, thread_.registers());
    return hides_memory(entered_call(registers));
}

// Others may write to it.
bool IntervalRun::shares_memory() const {
    return std::ranges::any_of(map_.mappings(),
                               [](const Mapping& m) { return m.shared && m.writable; });
}

bool IntervalRun::wants_replica() const {
    return options_.narrow == Narrow::always ||
           (options_.narrow == Narrow::after_the_first && stats_.diverged != 0);
}

Result<void> IntervalRun::take_replica() {
    // A signal that stopped the thread here is a breakpoint's or a step's.
    TRY(thread_.settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(syscall_instruction_, stop_.target().syscall_instruction());
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread_.extended_state(buffer));
    TRY_ASSIGN(auto replica, Replica::fork(stop_));
    // A replica has the fork server's extended state; narrowing wants the interval's.
    TRY(replica.thread().set_extended_state(extended));
    replica_.emplace(std::move(replica));
    return {};
}

// Only adds to what is said of the divergence.
void IntervalRun::narrow_down(const CpuState& start) {
    if (divergences_.size() != stats_.diverged) return;
    auto& lines = divergences_.back().differences;
    if (!replica_ && options_.narrow == Narrow::after_the_first)
        lines.emplace_back("only later ones are narrowed down, but with --narrow");
    if (!replica_) return;
    if (shares_memory()) {
        lines.emplace_back("not narrowed down: the program shares memory with others");
        return;
    }
    Narrowing narrowing(*worker_, std::move(*replica_), start, native_end_, map_,
                        syscall_instruction_, options_.flipped);
    const auto found = narrowing.run();
    if (found)
        lines.insert(lines.end(), found->begin(), found->end());
    else
        lines.push_back("not narrowed down: " + found.error().message);
}

void IntervalRun::note_divergence(std::vector<std::string> differences) {
    ++stats_.diverged;
    if (divergences_.size() < kept_divergences)
        divergences_.push_back({stats_.intervals, std::move(differences)});
    anew_ = jumped_ = true;
}

Result<Passage> IntervalRun::pass(Boundary boundary, const SampleOutcome& emulated) {
    switch (boundary) {
        case Boundary::syscall:
            ++stats_.boundaries["a system call"];
            return native_.pass_syscall();
        case Boundary::vdso_call:
            ++stats_.boundaries["a vDSO call"];
            return native_.pass_vdso_call();
        case Boundary::instruction:
            ++stats_.native_instructions;
            // Its block was left before it.
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

// The name under which an access to unreadable memory is counted: one for each kind.
std::string IntervalRun::unreadable_name(const SampleOutcome& emulated) const {
    const auto* mapping = map_.find(emulated.result.fault_address);
    if (mapping && mapping->name.starts_with("/secretmem"))
        return "an access to memory that only the program can read (memfd_secret)";
    return is_clock_page(mapping) ? "an access to the kernel's clock pages"
                                  : "an access behind the end of a file or to a device";
}

Result<Passage> IntervalRun::pass_instruction(const SampleOutcome& emulated) {
    const auto at = emulated.cpu.rip;
    std::array<std::byte, Instruction::max_length> bytes;
    ProcessMemory memory(thread_.tid());
    const auto readable = memory.read(at, bytes);
    const auto in = readable ? Instruction::decode(bytes, at) : std::nullopt;
    const bool faulted = emulated.result.end == SampleEnd::fault;
    const auto* mnemonic = in ? ZydisMnemonicGetString(in->mnemonic()) : "instruction";
    ++stats_.boundaries[faulted ? unreadable_name(emulated) : mnemonic];
    const bool registers_only = in && in->is_nondeterministic() && !in->has_memory_operand();
    return native_.pass_instruction(registers_only);
}

// Lets the program run natively for about as long as it was emulated, then past its stop.
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
