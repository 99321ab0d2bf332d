#include "emu/emulator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "emu/trace_pacer.h"
#include "emu/vdso.h"

namespace shadowprof {
namespace {

constexpr std::array<int, 5> guest_signals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
constexpr std::size_t signal_stack_bytes = std::size_t{256} << 10;

// Bits of RFLAGS that a guest may have: status flags, DF, AC and ID.
constexpr std::uint64_t guest_rflags = 0x240cd5;
constexpr std::uint64_t trap_flag = 0x100;
constexpr std::uint64_t page_fault_trap = 14;
constexpr std::uint64_t page_fault_write = 2;

constexpr std::size_t mxcsr_offset = 24;
constexpr std::uint32_t mxcsr_valid = 0xffff;
constexpr std::size_t xsave_header_offset = 512;

// With 4-level paging, and what WRFSBASE accepts.
bool is_canonical(std::uint64_t address) {
    return static_cast<std::int64_t>(address << 16) >> 16 == static_cast<std::int64_t>(address);
}

// How fast time goes by in a sample.
constexpr std::uint64_t instructions_per_ns = 3;

// A snapshot's bytes are not trusted to be an XSAVE area that XRSTOR accepts.
void sanitize_xsave(std::span<std::byte, CpuState::xsave_bytes> area) {
    std::uint32_t mxcsr;
    std::memcpy(&mxcsr, area.data() + mxcsr_offset, sizeof mxcsr);
    mxcsr &= mxcsr_valid;
    std::memcpy(area.data() + mxcsr_offset, &mxcsr, sizeof mxcsr);
    std::uint64_t components;
    std::memcpy(&components, area.data() + xsave_header_offset, sizeof components);
    components &= CpuState::xsave_components;
    std::memset(area.data() + xsave_header_offset, 0, 64);
    std::memcpy(area.data() + xsave_header_offset, &components, sizeof components);
}

}  // namespace

// The emulator's signal handlers and a stack for them, as long as guest code may run.
class Emulator::SignalScope {
  public:
    explicit SignalScope(const CodeCache& cache) {
        stack_ = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
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

// One run: goes in and out of translated code until something ends it.
class Emulator::Run {
  public:
    Run(Emulator& emulator, CpuState& cpu, const RunLimits& limits, SyscallHandler& syscalls,
        TraceSink& sink, Stepper* stepper)
        : e_(emulator),
          context_(e_.cache_->context()),
          cpu_(cpu),
          syscalls_(syscalls),
          sink_(sink),
          stepper_(stepper),
          limits_(limits),
          pacer_(limits, e_.tables_) {}

    RunResult execute();

  private:
    void load_state();
    void store_state();
    void load_registers();
    void store_registers();
    void end(SampleEnd reason) {
        ended_ = true;
        result_.end = reason;
    }
    void enter_at(GuestAddress pc);
    void enter_entry(const std::uint8_t* entry, GuestAddress pc);
    void new_buffer();
    void submit_trace();
    std::uint64_t elapsed_ns();

    void on_exit();
    void on_direct_branch();
    void on_indirect_miss();
    void on_syscall();
    void on_vdso_call();
    void hand_over(GuestAddress pc);
    void on_trace_full();
    void on_fault();
    void on_retired_block();
    void cut_last_record(const GuestPosition& position);

    Emulator& e_;
    ExecutionContext& context_;
    CpuState& cpu_;
    SyscallHandler& syscalls_;
    TraceSink& sink_;
    Stepper* stepper_;
    const RunLimits limits_;
    TracePacer pacer_;
    RunResult result_;
    std::uint64_t* start_ = nullptr;  // where the words begin that are not submitted yet
    GuestAddress pc_;                 // where the guest is when it is not in translated code
    std::uint64_t elapsed_ns_ = 0;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    bool ended_ = false;
};

RunResult Emulator::Run::execute() {
    if (limits_.blocks != 0) e_.translator_.drop_superblocks();
    pc_ = cpu_.rip;
    load_state();
    new_buffer();
    if (!ended_ && limits_.one_instruction)
        enter_entry(e_.translator_.one_instruction(pacer_.level(), pc_), pc_);
    else if (!ended_)
        enter_at(pc_);
    {
        SignalScope signals(*e_.cache_);
        while (!ended_) {
            e_.cache_->enter();
            on_exit();
        }
    }
    submit_trace();
    store_state();
    result_.instructions = pacer_.instructions();
    return result_;
}

void Emulator::Run::load_state() {
    std::memcpy(context_.xsave, cpu_.xsave.data(), cpu_.xsave.size());
    sanitize_xsave(std::span<std::byte, CpuState::xsave_bytes>(context_.xsave));
    context_.delta = e_.memory_.delta();
    context_.negative_delta = 0 - e_.memory_.delta();
    load_registers();
}

void Emulator::Run::load_registers() {
    std::copy(cpu_.gpr.begin(), cpu_.gpr.end(), context_.gpr);
    context_.rflags = (cpu_.rflags & guest_rflags) | 2;
    context_.guest_fs = cpu_.fs_base;
    context_.host_guest_fs = cpu_.fs_base + context_.delta;
    context_.guest_gs = cpu_.gs_base;
    if (!is_canonical(context_.host_guest_fs)) end(SampleEnd::unsupported_instruction);
}

void Emulator::Run::store_state() {
    std::memcpy(cpu_.xsave.data(), context_.xsave, cpu_.xsave.size());
    store_registers();
    cpu_.rip = pc_;
}

void Emulator::Run::store_registers() {
    std::copy(std::begin(context_.gpr), std::end(context_.gpr), cpu_.gpr.begin());
    cpu_.rflags = (context_.rflags & guest_rflags) | 0x202;
    cpu_.fs_base = context_.guest_fs;
    cpu_.gs_base = context_.guest_gs;
}

void Emulator::Run::enter_at(GuestAddress pc) {
    enter_entry(e_.translator_.entry_for(pacer_.level(), pc), pc);
}

// Continues in translated code, or without it where there is none.
void Emulator::Run::enter_entry(const std::uint8_t* entry, GuestAddress pc) {
    pc_ = pc;
    context_.entry = reinterpret_cast<std::uint64_t>(entry);
    if (entry) return;
    if (e_.tables_.full()) return end(SampleEnd::worker_lost);
    if (!e_.memory_.readable_bytes(pc).empty()) return hand_over(pc);
    result_.signal = SIGSEGV;
    result_.fault_address = pc;
    end(SampleEnd::fault);
}

void Emulator::Run::new_buffer() {
    e_.buffer_ = sink_.acquire();
    if (!e_.buffer_.base) return end(SampleEnd::stopped);
    start_ = e_.buffer_.base + pacer_.next_words(e_.buffer_.words());
    context_.trace_cursor = reinterpret_cast<std::uint64_t>(start_);
}

void Emulator::Run::submit_trace() {
    if (!start_) return;
    auto* cursor = reinterpret_cast<std::uint64_t*>(context_.trace_cursor);
    const std::span<const std::uint64_t> words(cursor, start_);
    pacer_.account(words);
    if (pacer_.level() != TraceLevel::none && limits_.blocks == 0 &&
        e_.superblocks_.observe(pacer_.level(), words))
        pacer_.expect_longer_records();
    sink_.submit(words);
    start_ = nullptr;
}

// From estimates that are corrected now and then; but time never goes backwards.
std::uint64_t Emulator::Run::elapsed_ns() {
    if (pacer_.level() == TraceLevel::none) {
        const auto passed = std::chrono::steady_clock::now() - began_;
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
    }
    const auto* cursor = reinterpret_cast<std::uint64_t*>(context_.trace_cursor);
    const auto instructions = pacer_.instructions_with(static_cast<std::uint64_t>(start_ - cursor));
    elapsed_ns_ = std::max(elapsed_ns_ + 1, instructions / instructions_per_ns);
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
        case ExitReason::handed_over:
            return hand_over(e_.tables_[context_.exit_info].last);
        case ExitReason::fault:
            return on_fault();
        case ExitReason::trace_full:
            return on_trace_full();
        case ExitReason::retired_block:
            return on_retired_block();
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
    const auto& block = e_.tables_[context_.exit_info];
    store_registers();
    pc_ = cpu_.rip = block.end;
    cpu_[Gpr::rcx] = cpu_.rip.value;
    cpu_[Gpr::r11] = cpu_.rflags;
    ++result_.syscalls;
    const auto reason = syscalls_.on_syscall(cpu_, e_.memory_, elapsed_ns());
    load_registers();
    pc_ = cpu_.rip;
    if (reason) return end(*reason);
    enter_at(pc_);
}

void Emulator::Run::on_vdso_call() {
    store_registers();
    pc_ = cpu_.rip = e_.tables_[context_.exit_info].start;
    const auto function = e_.translator_.vdso_function(pc_);
    const auto reason = syscalls_.on_vdso(function, cpu_, e_.memory_, elapsed_ns());
    if (reason) return end(*reason);
    const auto return_address = guest_load<GuestAddress>(e_.memory_, {cpu_[Gpr::rsp]});
    if (!return_address) return end(SampleEnd::fault);
    cpu_[Gpr::rsp] += sizeof(std::uint64_t);
    load_registers();
    enter_at(*return_address);
}

void Emulator::Run::hand_over(GuestAddress pc) {
    pc_ = pc;
    if (!stepper_) return end(SampleEnd::unsupported_instruction);
    store_state();
    const auto reason = stepper_->step(cpu_, e_.memory_);
    if (reason) return end(*reason);
    ++result_.single_stepped;
    load_state();
    enter_at(cpu_.rip);
}

void Emulator::Run::on_trace_full() {
    const auto position = e_.translator_.locate(context_.fault_host_rip);
    if (!position) return end(SampleEnd::fault);
    pc_ = position->address;
    submit_trace();
    if (pacer_.finished()) return end(SampleEnd::size);
    new_buffer();
    if (!ended_) enter_at(pc_);
}

// The block that was left in the middle has run only up to `position`.
void Emulator::Run::cut_last_record(const GuestPosition& position) {
    auto* id = reinterpret_cast<std::uint64_t*>(context_.trace_cursor) + position.words_before;
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
    result_.signal = e_.fault_.signal;
    result_.fault_address = e_.fault_.address;
    end(SampleEnd::fault);
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

Emulator::Emulator(BlockTables& tables, std::unique_ptr<Emulator*> self,
                   std::unique_ptr<CodeCache> cache)
    : tables_(tables),
      self_(std::move(self)),
      cache_(std::move(cache)),
      memory_(
          [this](GuestAddress start, GuestAddress end) { translator_.retire_range(start, end); }),
      translator_(*cache_, memory_, tables_),
      superblocks_(translator_, tables_) {
    *self_ = this;
}

Emulator::~Emulator() = default;

Result<std::unique_ptr<Emulator>> Emulator::create(BlockTables& tables) {
    auto self = std::make_unique<Emulator*>(nullptr);
    TRY_ASSIGN(auto cache, CodeCache::create(&Emulator::on_signal, self.get()));
    return std::unique_ptr<Emulator>(new Emulator(tables, std::move(self), std::move(cache)));
}

Result<void> Emulator::begin_sample(MemoryMap map, PageSource& source,
                                    Nondeterminism nondeterminism, bool track_writes) {
    nondeterminism_ = nondeterminism;
    TRY(memory_.begin(std::move(map), source, track_writes));
    begin_translator();
    return {};
}

bool Emulator::next_interval(std::span<const MemoryRange> changed,
                             std::optional<MemoryMap> layout) {
    memory_.next_interval();
    bool code_may_differ = layout.has_value();
    if (layout && !memory_.change_layout(std::move(*layout))) return false;
    if (std::ranges::any_of(changed, [](const auto& range) { return range.is_all(); })) {
        memory_.refresh_writable();
        code_may_differ = true;
    } else {
        memory_.refresh(changed);
    }
    if (code_may_differ) begin_translator();
    return true;
}

void Emulator::begin_translator() {
    const auto& mappings = memory_.layout().mappings();
    const auto vdso = std::find_if(mappings.begin(), mappings.end(),
                                   [](const Mapping& m) { return m.name == "[vdso]"; });
    // All of a program's snapshots show the same one.
    if (vdso == mappings.end() || *vdso != vdso_) {
        vdso_ = vdso == mappings.end() ? Mapping{} : *vdso;
        vdso_functions_ = find_vdso_functions(memory_, vdso_);
    }
    translator_.begin_sample(vdso_functions_, nondeterminism_);
}

RunResult Emulator::run(CpuState& cpu, const RunLimits& limits, SyscallHandler& syscalls,
                        TraceSink& sink, Stepper* stepper) {
    return Run(*this, cpu, limits, syscalls, sink, stepper).execute();
}

void Emulator::on_signal(void* self, int signal, void* info, void* ucontext) {
    (*static_cast<Emulator**>(self))
        ->handle_signal(signal, *static_cast<siginfo_t*>(info),
                        *static_cast<ucontext_t*>(ucontext));
}

void Emulator::handle_signal(int signal, const siginfo_t& info, ucontext_t& context) {
    auto& registers = context.uc_mcontext.gregs;
    const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
    registers[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
    if (!cache_->contains(rip)) {
        // A fault of our own: die of it as we would without a handler.
        ::signal(signal, SIG_DFL);
        return;
    }
    FaultInfo fault{.signal = signal, .address = {}, .code_write = false};
    if (signal == SIGSEGV && static_cast<std::uint64_t>(registers[REG_TRAPNO]) == page_fault_trap) {
        const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
        const auto base = reinterpret_cast<std::uint64_t>(buffer_.base);
        if (base - address - 1 < TraceBuffer::guard_bytes) {
            cache_->context().fault_host_rip = rip;
            registers[REG_RIP] =
                reinterpret_cast<greg_t>(cache_->exit_stub(ExitReason::trace_full));
            return;
        }
        fault.address = {address - memory_.delta()};
        // Not a page fault where the guest runs natively.
        if (!is_canonical(fault.address.value)) return leave_by_fault({.signal = signal}, context);
        const bool is_write =
            (static_cast<std::uint64_t>(registers[REG_ERR]) & page_fault_write) != 0;
        switch (memory_.on_fault(fault.address, is_write)) {
            case GuestMemory::Fault::resolved:
                return;
            case GuestMemory::Fault::code_write:
                fault.code_write = true;
                break;
            case GuestMemory::Fault::guest:
                break;
        }
    }
    leave_by_fault(fault, context);
}

// Undoes what the translation did to the guest's registers, and goes to the exit.
void Emulator::leave_by_fault(const FaultInfo& fault, ucontext_t& context) {
    auto& registers = context.uc_mcontext.gregs;
    auto& shared = cache_->context();
    const auto rip = static_cast<std::uint64_t>(registers[REG_RIP]);
    fault_ = fault;
    shared.fault_host_rip = rip;
    registers[REG_RIP] = reinterpret_cast<greg_t>(cache_->exit_stub(ExitReason::fault));
    const auto position = translator_.locate(rip);
    const auto borrowed = static_cast<greg_t>(shared.borrowed);
    switch (position ? position->recovery : Recovery::none) {
        case Recovery::none:
            break;
        case Recovery::rdi_shifted:
            registers[REG_RDI] -= static_cast<greg_t>(memory_.delta());
            break;
        case Recovery::rbx_borrowed:
            registers[REG_RBX] = borrowed;
            break;
        case Recovery::rbp_borrowed:
            registers[REG_RBP] = borrowed;
            break;
        case Recovery::rsi_borrowed:
            registers[REG_RSI] = borrowed;
            break;
        case Recovery::rdi_borrowed:
            registers[REG_RDI] = borrowed;
            break;
    }
}

}  // namespace shadowprof
