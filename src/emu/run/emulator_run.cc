#include "emu/run/emulator_run.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/cpu_state.h"
#include "base/xsave_layout.h"
#include "emu/translation/x87_environment.h"
#include "emu/watch/accesses.h"

namespace shadowprof {
namespace {

constexpr std::array<int, 5> guest_signals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
constexpr std::size_t signal_stack_bytes = std::size_t{256} << 10;

// Bits of RFLAGS that a guest may set: status flags, DF, AC and ID.
constexpr std::uint64_t guest_rflags = 0x240cd5;

// Places in an XSAVE area (Intel SDM vol. 1, 13.4.1).
constexpr std::size_t x87_opcode_offset = 6, x87_instruction_offset = 8, x87_operand_offset = 16;
constexpr std::size_t mxcsr_offset = 24;
constexpr std::size_t xsave_header_offset = 512;

// A run ends after more visits than this with agreeing telling registers but another state.
constexpr std::uint32_t max_misses = 400'000;

// More than any turn has.
constexpr std::uint64_t most_counted = 1 << 30;

// How fast the guest's time passes in a sample.
constexpr std::uint64_t instructions_per_ns = 3;

// Makes an XSAVE area that XRSTOR accepts; the snapshot's bytes are not trusted to be one.
void sanitize_xsave(std::span<std::byte, CpuState::xsave_bytes> area) {
    std::uint32_t mxcsr;
    std::memcpy(&mxcsr, area.data() + mxcsr_offset, sizeof mxcsr);
    mxcsr &= host_mxcsr_mask();
    std::memcpy(area.data() + mxcsr_offset, &mxcsr, sizeof mxcsr);
    std::uint64_t components;
    std::memcpy(&components, area.data() + xsave_header_offset, sizeof components);
    components &= host_xsave_components();
    std::memset(area.data() + xsave_header_offset, 0, 64);
    std::memcpy(area.data() + xsave_header_offset, &components, sizeof components);
}

}  // namespace

// Installs the emulator's signal handlers and a stack for them, as long as guest code may run.
class Emulator::SignalScope {
  public:
    explicit SignalScope(const CodeCache& cache)
        : stack_(mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {
        const stack_t ours = {.ss_sp = stack_, .ss_flags = 0, .ss_size = signal_stack_bytes};
        sigaltstack(&ours, &old_stack_);
        struct sigaction action = {};
        std::memcpy(&action.sa_sigaction, std::array{cache.signal_entry()}.data(), sizeof(void*));
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (std::size_t i = 0; i < guest_signals.size(); ++i)
            sigaction(guest_signals[i], &action, &old_actions_[i]);
    }
    ~SignalScope() {
        for (std::size_t i = 0; i < guest_signals.size(); ++i)
            sigaction(guest_signals[i], &old_actions_[i], nullptr);
        sigaltstack(&old_stack_, nullptr);
        munmap(stack_, signal_stack_bytes);
    }
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;

  private:
    void* stack_;
    stack_t old_stack_ = {};
    std::array<struct sigaction, guest_signals.size()> old_actions_;
};

RunResult Emulator::run(GuestThreads& threads, const RunLimits& limits, SyscallHandler& syscalls,
                        TraceSink& sink, Stepper* stepper) {
    return Run(*this, threads, limits, syscalls, sink, stepper).execute();
}

// Upper limits for the pacer: the threads' time is what ends the run.
RunLimits Emulator::Run::of_all_processors(RunLimits limits) {
    const std::uint64_t max_at_once = std::max(1u, limits.processors) + limits.first_leads;
    const auto factor = max_at_once * (GuestThreads::usual_pace / GuestThreads::fastest_pace);
    if (limits.instructions < RunLimits::unlimited / factor) limits.instructions *= factor;
    return limits;
}

RunResult Emulator::Run::execute() {
    if (limits_.blocks != 0) e_.translator_.drop_superblocks();
    using enum GuestThreads::Lead;
    threads_.begin({.instructions = limits_.instructions,
                    .processors = limits_.processors,
                    .seed = limits_.seed,
                    .lead = limits_.first_leads ? first : all,
                    .mean_turn = limits_.mean_turn,
                    .lasting_threads = limits_.lasting_threads});
    if (limits_.notes_call_results) find_calls_in_progress();
    {
        SignalScope signals(*e_.cache_);
        while (begin_turn()) {
            while (!is_over()) {
                run_translated();
                on_exit();
            }
            end_turn();
        }
    }
    if (limits_.notes_call_results) keep_call_results();
    result_.end = end_.value_or(threads_.end());
    result_.instructions = pacer_.instructions();
    result_.of_lead = threads_.of_lead();
    result_.in_turn = limits_.lasting_threads && threads_.is_in_turn();
    result_.other_ended_it = limits_.first_leads && end_ && threads_.current() != 0;
    return result_;
}

bool Emulator::Run::begin_turn() {
    if (!end_ && limits_.turn_words != 0 && had_any_turn()) end_ = SampleEnd::size;
    if (end_) return false;
    if (limits_.lasting_threads) prepare_turn();
    if (end_ || !threads_.next()) return false;
    if (had_any_turn() && is_late()) end_ = SampleEnd::size;
    if (end_) return false;
    turn_over_ = false;
    pc_ = cpu().rip;
    load_state();
    had_turn_.resize(threads_.size());
    began_at_.reset();
    if (!had_turn_[threads_.current()]) began_at_ = pc_;
    had_turn_[threads_.current()] = true;
    if (!is_over()) new_buffer();
    if (!is_over()) note_set_stack();
    if (!is_over()) note_call_result();
    const bool begins = began_at_ && limits_.notes_script_stacks;
    if (!is_over() && e_.python_ && begins) note_python_stack();
    if (is_over()) return true;
    if (limits_.one_instruction)
        enter_entry(e_.translator_.one_instruction(pacer_.level(), pc_), pc_);
    else
        enter_at(pc_);
    return true;
}

bool Emulator::Run::is_late() const {
    return limits_.until_ns != RunLimits::any_time && threads_.size() > 1 &&
           read_clock_ns(CLOCK_MONOTONIC) >= limits_.until_ns;
}

// The handler makes the call that the current thread has left to this run.
void Emulator::Run::prepare_turn() {
    const bool calls = threads_.state(threads_.current()) == GuestThreads::State::calls;
    const bool was_alone = threads_.size() == 1;
    end_ = syscalls_.before_turn(threads_, e_.memory_);
    forget_history_of_one(was_alone);
    if (calls && end_) note_call_left(*end_);
}

// When the second thread has begun, turns become the same whatever runs came before.
void Emulator::Run::forget_history_of_one(bool was_alone) {
    if (was_alone && threads_.size() > 1 && threads_.counts_turns()) e_.forget_history();
}

void Emulator::Run::end_turn() {
    submit_trace();
    store_state();
    if (!end_ || limits_.lasting_threads || !stops_one_thread(*end_)) return;
    ++result_.stopped_threads;
    threads_.stop(*end_);
    end_.reset();
}

void Emulator::Run::load_state() {
    std::memcpy(context_.xsave, cpu().xsave.data(), cpu().xsave.size());
    sanitize_xsave(std::span<std::byte, CpuState::xsave_bytes>(context_.xsave));
    context_.delta = e_.memory_.delta();
    context_.negative_delta = 0 - e_.memory_.delta();
    load_registers();
}

void Emulator::Run::load_registers() {
    std::copy(cpu().gpr.begin(), cpu().gpr.end(), context_.gpr);
    context_.rflags = (cpu().rflags & guest_rflags) | 2;
    context_.guest_fs = cpu().fs_base;
    context_.host_guest_fs = cpu().fs_base + context_.delta;
    context_.guest_gs = cpu().gs_base;
    if (!is_canonical(context_.host_guest_fs)) end(SampleEnd::unsupported_instruction);
}

void Emulator::Run::store_state() {
    std::memcpy(cpu().xsave.data(), context_.xsave, cpu().xsave.size());
    store_registers();
    cpu().rip = pc_;
    remember_stack();
}

void Emulator::Run::store_registers() {
    std::copy(std::begin(context_.gpr), std::end(context_.gpr), cpu().gpr.begin());
    cpu().rflags = (context_.rflags & guest_rflags) | 0x202;
    cpu().fs_base = context_.guest_fs;
    cpu().gs_base = context_.guest_gs;
}

std::uint64_t Emulator::Run::x87_pointer(std::size_t offset) const {
    std::uint64_t value;
    std::memcpy(&value, context_.xsave + offset, sizeof value);
    return value;
}

void Emulator::Run::set_x87_pointer(std::size_t offset, std::uint64_t value) {
    std::memcpy(context_.xsave + offset, &value, sizeof value);
}

// Runs translated code to an exit. The processor knows the x87 unit's last instruction by its host
// address. From here on it has the guest's.
void Emulator::Run::run_translated() {
    const auto before = x87_pointer(x87_instruction_offset);
    e_.cache_->enter();
    take_x87_environment(before);
    const auto now = x87_pointer(x87_instruction_offset);
    if (now == before || !e_.cache_->contains(now)) return;
    const auto position = e_.translator_.locate(now);
    if (!position) return;
    set_x87_pointer(x87_instruction_offset, position->address.value);
    set_x87_opcode(position->address);
}

// The host's instruction may name another register. Some processors keep no opcode: it is 0 there.
void Emulator::Run::set_x87_opcode(GuestAddress address) {
    std::uint16_t opcode;
    std::memcpy(&opcode, context_.xsave + x87_opcode_offset, sizeof opcode);
    const auto in = e_.translator_.decode_at(address);
    if (opcode == 0 || !in) return;
    const auto& raw = in->zydis().raw.modrm;
    opcode = static_cast<std::uint16_t>((in->zydis().opcode & 7) << 8 | raw.mod << 6 |
                                        raw.reg << 3 | raw.rm);
    std::memcpy(context_.xsave + x87_opcode_offset, &opcode, sizeof opcode);
}

// AMD's processors leave these pointers out of what XSAVE stores unless an exception is pending.
void Emulator::Run::take_x87_environment(std::uint64_t last_instruction) {
    auto* place = context_.xsave + (x87_environment_place - offsetof(ExecutionContext, xsave));
    X87Environment stored;
    std::memcpy(&stored, place, sizeof stored);
    if (stored.control == 0) return;
    std::memset(place, 0, sizeof stored);
    if (x87_pointer(x87_instruction_offset) != 0 || stored.instruction == 0) return;
    set_x87_pointer(x87_instruction_offset,
                    static_cast<std::uint32_t>(last_instruction) == stored.instruction
                        ? last_instruction
                        : in_code(stored.instruction).value_or(stored.instruction));
    set_x87_pointer(x87_operand_offset, stored.operand);
    std::memcpy(context_.xsave + x87_opcode_offset, &stored.opcode, sizeof stored.opcode);
}

// The address of translated code that has this low half, if there is one.
std::optional<std::uint64_t> Emulator::Run::in_code(std::uint32_t low_half) const {
    const auto first = reinterpret_cast<std::uintptr_t>(e_.cache_->miss_stub());
    const auto address =
        first + static_cast<std::uint32_t>(low_half - static_cast<std::uint32_t>(first));
    return e_.cache_->contains(address) ? std::optional(address) : std::nullopt;
}

void Emulator::Run::enter_at(GuestAddress pc) {
    enter_entry(e_.translator_.entry_for(pacer_.level(), pc), pc);
}

// Continues in translated code; without it, single-steps or ends the run.
void Emulator::Run::enter_entry(const std::uint8_t* entry, GuestAddress pc) {
    pc_ = pc;
    context_.entry = reinterpret_cast<std::uint64_t>(entry);
    if (entry) return;
    if (e_.tables_.full()) return end(SampleEnd::worker_lost);
    if (!e_.memory_.executable_bytes(pc).empty()) return fall_back_to_single_step(pc);
    result_.signal = SIGSEGV;
    result_.fault_address = pc;
    end(SampleEnd::fault);
}

void Emulator::Run::new_buffer() {
    e_.buffer_ = sink_.acquire();
    if (!e_.buffer_.base) return end(SampleEnd::stopped);
    auto words = pacer_.next_words(e_.buffer_.words(), threads_.turn_left());
    if (threads_.counts_turns()) words = std::min(words, words_of_turn());
    if (limits_.turn_words != 0 && words > limits_.turn_words) {
        words_behind_cut_ = words - limits_.turn_words;
        words = limits_.turn_words;
    }
    timed_to_ = start_ = e_.buffer_.base + words;
    context_.trace_cursor = reinterpret_cast<std::uint64_t>(start_);
}

void Emulator::Run::submit_trace() {
    if (!start_) return;
    auto* cursor = reinterpret_cast<std::uint64_t*>(context_.trace_cursor);
    const std::span<const std::uint64_t> words(cursor, start_);
    if (!words.empty()) began_at_.reset();
    keep_time();
    if (is_cut_ || !e_.cut_turn_.words.empty()) {
        const auto left = static_cast<std::size_t>(cursor - e_.buffer_.base);
        auto& all = e_.cut_turn_.words;
        all.insert(all.begin(), words.begin(), words.end());
        e_.cut_turn_.words_left = words_behind_cut_ + left;
        if (!is_cut_) account(std::exchange(e_.cut_turn_, {}).words);
    } else {
        account(words);
    }
    sink_.submit(words, threads_.current());
    start_ = nullptr;
}

void Emulator::Run::account(std::span<const std::uint64_t> words) {
    const auto before = pacer_.instructions();
    pacer_.account(words);
    if (threads_.counts_turns())
        count_turn(words);
    else
        threads_.ran(pacer_.instructions() - before);
    if (pacer_.level() != TraceLevel::none && limits_.blocks == 0 && !e_.watcher_ &&
        e_.superblocks_.observe(pacer_.level(), words, limits_.defers_superblocks))
        pacer_.expect_longer_records();
}

// How many words of the trace the rest of the turn is likely to need.
std::size_t Emulator::Run::words_of_turn() const {
    if (!e_.cut_turn_.words.empty()) return e_.cut_turn_.words_left;
    // Enough for any record, and few beside a turn.
    const std::size_t least = pacer_.level() == TraceLevel::blocks ? 16 : 1024;
    const auto left = static_cast<double>(std::min(threads_.turn_left(), most_counted));
    return std::max(least, static_cast<std::size_t>(left * e_.turn_words_per_instruction_));
}

void Emulator::Run::count_turn(std::span<const std::uint64_t> words) {
    const auto instructions = pacer_.estimate(words);
    threads_.ran(instructions);
    if (instructions != 0)
        e_.turn_words_per_instruction_ =
            static_cast<double>(words.size()) / static_cast<double>(instructions);
}

// Counts the records since the last time.
void Emulator::Run::keep_time() {
    if (!e_.time_ || !start_) return;
    const auto* cursor = reinterpret_cast<std::uint64_t*>(context_.trace_cursor);
    e_.time_->instructions += pacer_.count({cursor, timed_to_});
    timed_to_ = cursor;
}

// Derived from estimates that are sometimes corrected; the time never goes backwards.
std::uint64_t Emulator::Run::elapsed_ns() {
    if (pacer_.level() == TraceLevel::none) {
        const auto passed = std::chrono::steady_clock::now() - began_;
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
    }
    const auto* cursor = reinterpret_cast<std::uint64_t*>(context_.trace_cursor);
    const auto instructions = pacer_.instructions_with(static_cast<std::uint64_t>(start_ - cursor));
    const auto time = threads_.time(instructions - pacer_.instructions());
    elapsed_ns_ = std::max(elapsed_ns_ + 1, time / instructions_per_ns);
    return elapsed_ns_;
}

void Emulator::Run::on_exit() {
    switch (context_.exit_reason) {
        case ExitReason::direct_branch:
            return on_direct_branch();
        case ExitReason::indirect_miss:
            return on_indirect_miss();
        case ExitReason::syscall:
            return on_syscall();
        case ExitReason::vdso_call:
            return on_vdso_call();
        case ExitReason::single_step:
            return on_single_step();
        case ExitReason::fault:
            return on_fault();
        case ExitReason::trace_full:
            return on_trace_full();
        case ExitReason::retired_block:
            return on_retired_block();
        case ExitReason::instrumented:
            return on_instrumented();
        case ExitReason::awaited:
            return on_awaited();
    }
}

void Emulator::Run::on_direct_branch() {
    const auto exit = context_.exit_info;
    const auto target = e_.translator_.exit_target(exit);
    const auto clears = e_.translator_.counters().cache_clears;
    const auto* entry = e_.translator_.entry_for(pacer_.level(), target);
    if (entry && clears == e_.translator_.counters().cache_clears) e_.translator_.link(exit, entry);
    enter_entry(entry, target);
}

void Emulator::Run::on_indirect_miss() {
    const GuestAddress target{context_.target};
    enter_entry(e_.translator_.indirect_entry_for(pacer_.level(), target), target);
}

void Emulator::Run::on_syscall() {
    pc_ = e_.tables_[context_.exit_info].end;
    store_state();
    e_.stand_at_[threads_.current()]->returns_from_handler = cpu()[Gpr::rax] == SYS_rt_sigreturn;
    cpu()[Gpr::rcx] = pc_.value;
    cpu()[Gpr::r11] = cpu().rflags;
    ++result_.syscalls;
    keep_time();
    const bool has_room = note_system_call(e_.tables_[context_.exit_info]);
    const auto elapsed = elapsed_ns();
    const bool goes_out = syscalls_.wants_trace(cpu());
    // The handler may compare how far threads have come.
    const bool submits = goes_out || threads_.counts_turns();
    if (submits) submit_trace();
    if (goes_out) sink_.flush();
    const bool was_alone = threads_.size() == 1;
    const auto reason = syscalls_.on_syscall(threads_, e_.memory_, elapsed);
    forget_history_of_one(was_alone);
    load_state();
    pc_ = cpu().rip;
    if (reason) {
        note_call_left(*reason);
        return end(*reason);
    }
    if (!has_room || submits) {
        submit_trace();
        if (pacer_.finished()) return end(SampleEnd::size);
    }
    turn_over_ = threads_.is_turn_over();
    if (!is_over() && !start_) new_buffer();
    if (!is_over()) note_set_stack();
    if (!is_over()) note_call_result();
    if (!is_over()) enter_at(pc_);
}

void Emulator::Run::on_vdso_call() {
    store_registers();
    pc_ = cpu().rip = e_.tables_[context_.exit_info].start;
    ++result_.vdso_calls;
    keep_time();
    const auto function = e_.translator_.vdso_function(pc_);
    const auto reason = syscalls_.on_vdso(function, threads_, e_.memory_, elapsed_ns());
    if (reason && limits_.turn_words != 0) leave_record_to_next_run();
    if (reason) return end(*reason);
    const auto return_address = read_value<GuestAddress>(e_.memory_, {cpu()[Gpr::rsp]});
    if (!return_address) return end(SampleEnd::fault);
    cpu()[Gpr::rsp] += sizeof(std::uint64_t);
    load_registers();
    enter_at(*return_address);
}

void Emulator::Run::on_single_step() {
    const auto pc = e_.tables_[context_.exit_info].last;
    if (shows_time(pc)) return enter_at(e_.tables_[context_.exit_info].end);
    const auto* native = limits_.executes_nondeterministic
                             ? e_.translator_.one_nondeterministic(pacer_.level(), pc)
                             : nullptr;
    const bool is_alone = e_.tables_[context_.exit_info].start == pc;
    if (!native && limits_.turn_words != 0 && is_alone) {
        pc_ = pc;
        leave_record_to_next_run();
        return end(SampleEnd::size);
    }
    if (!native) return fall_back_to_single_step(pc);
    // The record that was just left is left again by the instruction.
    context_.trace_cursor += sizeof(std::uint64_t);
    if (e_.translator_.makes_request(pc)) {
        answer_request(pc);
        if (is_over()) return;
        native = e_.translator_.one_nondeterministic(pacer_.level(), pc);
    }
    enter_entry(native, pc);
}

// The run ends in the midst of a turn, before the last record's instruction.
void Emulator::Run::leave_record_to_next_run() {
    context_.trace_cursor += sizeof(std::uint64_t);
    is_cut_ = true;
}

// Executes RDTSC or RDTSCP (Intel SDM vol. 2B) by the guest's time. False if the instruction is
// another one, or the guest has no time of its own.
bool Emulator::Run::shows_time(GuestAddress pc) {
    if (!e_.time_ || !limits_.executes_nondeterministic) return false;
    const auto instruction = e_.translator_.decode_at(pc);
    const auto mnemonic = instruction ? instruction->mnemonic() : ZYDIS_MNEMONIC_INVALID;
    if (mnemonic != ZYDIS_MNEMONIC_RDTSC && mnemonic != ZYDIS_MNEMONIC_RDTSCP) return false;
    keep_time();
    const auto set = [&](Gpr to, std::uint64_t value) {
        context_.gpr[static_cast<std::size_t>(to)] = value & 0xffffffff;
    };
    const auto ticks = e_.time_->ticks();
    set(Gpr::rax, ticks);
    set(Gpr::rdx, ticks >> 32);
    if (mnemonic == ZYDIS_MNEMONIC_RDTSCP) set(Gpr::rcx, 0);
    return true;
}

// The current thread makes a request by the instruction at `pc`.
void Emulator::Run::answer_request(GuestAddress pc) {
    pc_ = pc;
    store_registers();
    const auto request = syscalls_.on_client_request(cpu(), e_.memory_);
    load_registers();
    if (!request) return;
    for (std::string_view name = request->name; !name.empty();)
        note_region(take_text_note(name, {.pc = pc, .probe = region_name_note}));
    note_region(
        {.pc = pc, .value = static_cast<std::uint64_t>(request->kind), .probe = region_note});
}

void Emulator::Run::note_region(const ProbeRecord& record) {
    if (!is_over() && !note(record)) make_room();
}

void Emulator::Run::fall_back_to_single_step(GuestAddress pc) {
    pc_ = pc;
    if (!stepper_) return end(SampleEnd::unsupported_instruction);
    store_state();
    const auto reason = stepper_->step(cpu(), e_.memory_);
    if (reason) return end(*reason);
    ++result_.single_stepped;
    load_state();
    enter_at(cpu().rip);
}

void Emulator::Run::on_trace_full() {
    const auto position = e_.translator_.locate(context_.fault_host_rip);
    if (!position) return end(SampleEnd::fault);
    pc_ = position->address;
    is_cut_ = words_behind_cut_ != 0;
    submit_trace();
    if (is_cut_ || pacer_.finished()) return end(SampleEnd::size);
    turn_over_ = threads_.is_turn_over();
    // Alone, a thread has a turn without end.
    if (!is_over() && is_late()) return end(SampleEnd::size);
    if (!is_over()) new_buffer();
    if (!is_over()) enter_at(pc_);
}

// Cuts the record of the block that was left in the middle: it has run only up to `position`.
void Emulator::Run::cut_last_record(const GuestPosition& position) {
    auto* id = reinterpret_cast<std::uint64_t*>(context_.trace_cursor) + position.words_before +
               position.own_words;
    if (id >= start_) return;
    auto* oldest_free = id + 1;
    if (const auto executed = e_.translator_.executed(position)) {
        *id = *executed;
        oldest_free = id - e_.tables_[*executed].value_words;
    }
    context_.trace_cursor = reinterpret_cast<std::uint64_t>(oldest_free);
}

void Emulator::Run::on_fault() {
    const auto position = e_.translator_.locate(context_.fault_host_rip);
    if (!position) return end(SampleEnd::fault);
    pc_ = position->address;
    cut_last_record(*position);
    if (e_.fault_.code_write) {
        e_.memory_.allow_code_write(e_.fault_.address.page());
        return enter_entry(e_.translator_.one_instruction(pacer_.level(), pc_), pc_);
    }
    result_.signal = stack_faulted() ? SIGBUS : e_.fault_.signal;
    if (is_canonical(e_.fault_.address.value)) result_.fault_address = e_.fault_.address;
    end(SampleEnd::fault);
}

// Whether the fault is #SS natively. Here all of the guest's memory is accessed by GS.
bool Emulator::Run::stack_faulted() {
    if (e_.fault_.signal != SIGSEGV || is_canonical(e_.fault_.address.value)) return false;
    store_registers();
    const auto in = e_.translator_.decode_at(pc_);
    return in && faults_in_stack_segment(*in, cpu());
}

void Emulator::Run::on_instrumented() {
    const auto block = context_.exit_info;
    store_registers();
    pc_ = cpu().rip = e_.translator_.block_start(block);
    if (e_.watcher_) {
        if (const auto reason = e_.watcher_->on_access(cpu(), e_.memory_)) return end(*reason);
        return enter_entry(e_.translator_.behind_instrumentation(block), pc_);
    }
    const auto clears = e_.translator_.counters().cache_clears;
    bool has_room = !e_.regions_ || follow_regions();
    if (e_.python_) has_room &= note_python();
    if (e_.probes_) has_room &= note_probed();
    if (!has_room) return on_notes_full();
    note_stack_change();
    if (is_over()) return;
    if (clears != e_.translator_.counters().cache_clears) return enter_at(pc_);
    enter_entry(e_.translator_.behind_instrumentation(block), pc_);
}

void Emulator::Run::on_awaited() {
    const auto place = context_.exit_info;
    store_registers();
    const auto& state = *e_.awaited_;
    pc_ = cpu().rip = state.cpu.rip;
    const bool met = is_met(state);
    // A loop with the same registers on each iteration would stay slow for ever.
    if (!met && ++misses_ <= max_misses)
        return enter_entry(e_.translator_.behind_awaited(place), pc_);
    const auto position = e_.translator_.position_of_awaited(place);
    if (!position) return end(SampleEnd::fault);
    cut_last_record(*position);
    end(met ? SampleEnd::met : SampleEnd::size);
}

// Flags are not compared: dead ones may differ.
bool Emulator::Run::is_met(const AwaitedState& state) {
    std::array<std::byte, AwaitedState::max_bytes> bytes;
    const auto holds = [&](GuestAddress at, std::span<const std::byte> content) {
        const auto now = std::span(bytes).first(content.size());
        return e_.memory_.read(at, now) && std::ranges::equal(now, content);
    };
    if (threads_.current() != 0 || cpu().gpr != state.cpu.gpr) return false;
    const bool met = state.all_memory(holds);
    result_.nearly_met = !met;
    return met;
}

void Emulator::Run::on_retired_block() {
    const auto block = context_.exit_info;
    const auto pc = e_.translator_.retired_start(block);
    const auto clears = e_.translator_.counters().cache_clears;
    const auto* entry = e_.translator_.entry_for(pacer_.level(), pc);
    if (entry && clears == e_.translator_.counters().cache_clears)
        e_.translator_.forward(block, entry);
    enter_entry(entry, pc);
}

}  // namespace shadowprof
