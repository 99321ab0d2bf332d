#include "emu/run/emulator.h"

#include <algorithm>

#include "emu/guest/vdso.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t trap_flag = 0x100;
constexpr std::uint64_t page_fault_trap = 14;
constexpr std::uint64_t page_fault_write = 2;
// The address of a fault that is no page fault. That of a page fault is canonical.
constexpr GuestAddress no_page{std::uint64_t{1} << 63};

}  // namespace

Emulator::Emulator(BlockTables& tables, std::unique_ptr<Emulator*> self,
                   std::unique_ptr<CodeCache> cache)
    : tables_(tables),
      self_(std::move(self)),
      cache_(std::move(cache)),
      memory_(
          [this](GuestAddress start, GuestAddress end) { translator_.retire_range(start, end); },
          cache_->bases()),
      stacks_(memory_),
      translator_(*cache_, memory_, tables_),
      superblocks_(translator_, tables_) {
    *self_ = this;
    translator_.instrument_stacks(&stacks_);
}

Emulator::~Emulator() = default;

Result<std::unique_ptr<Emulator>> Emulator::create(BlockTables& tables, SegmentBases bases) {
    auto self = std::make_unique<Emulator*>(nullptr);
    TRY_ASSIGN(auto cache, CodeCache::create(&Emulator::on_signal, self.get(), bases));
    return std::unique_ptr<Emulator>(new Emulator(tables, std::move(self), std::move(cache)));
}

Result<void> Emulator::begin_sample(MemoryMap map, PageSource& source,
                                    Nondeterminism nondeterminism, PageUse use) {
    nondeterminism_ = nondeterminism;
    const bool same_files = !memory_.layout_changed() && map.mappings() == layout_.mappings();
    if (!same_files) layout_ = map;
    cut_turn_ = {};
    TRY(memory_.begin(std::move(map), source, use));
    begin_translator(same_files);
    return {};
}

bool Emulator::translate_ahead(MemoryMap map, PageSource& source,
                               std::span<const GuestAddress> roots, BurstLevels bursts,
                               const std::function<bool()>& goes_on) {
    if (!begin_sample(std::move(map), source, Nondeterminism::native, PageUse::again)) return false;
    translator_.begin_ahead();
    superblocks_.make_deferred(goes_on);
    const bool more = translator_.translate_ahead(roots, bursts, goes_on);
    translator_.end_ahead();
    end_sample();
    return more;
}

bool Emulator::next_interval(std::span<const MemoryRange> changed,
                             std::optional<MemoryMap> layout) {
    layout_ = {};
    memory_.next_interval();
    bool code_may_differ = layout.has_value();
    if (layout && !memory_.change_layout(std::move(*layout))) return false;
    if (std::ranges::any_of(changed, [](const auto& range) { return range.is_all(); })) {
        memory_.refresh_writable();
        code_may_differ = true;
    } else {
        memory_.refresh(changed);
    }
    if (code_may_differ) begin_translator(false);
    return true;
}

void Emulator::begin_translator(bool same_files) {
    const auto& mappings = memory_.layout().mappings();
    const auto vdso = std::find_if(mappings.begin(), mappings.end(),
                                   [](const Mapping& m) { return m.name == "[vdso]"; });
    // All snapshots of a program show the same vDSO.
    if (vdso == mappings.end() || *vdso != vdso_) {
        vdso_ = vdso == mappings.end() ? Mapping{} : *vdso;
        vdso_functions_ = find_vdso_functions(memory_, vdso_);
        add_vsyscalls(memory_.layout(), vdso_functions_);
    }
    translator_.begin_sample(vdso_functions_, nondeterminism_, same_files);
}

RunResult Emulator::run(CpuState& cpu, const RunLimits& limits, SyscallHandler& syscalls,
                        TraceSink& sink, Stepper* stepper) {
    GuestThreads threads(cpu);
    const auto result = run(threads, limits, syscalls, sink, stepper);
    cpu = threads.cpu();
    return result;
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
    // The effect of a guest's trap flag may show at any instruction, also in the stubs.
    const bool in_stubs = signal != SIGTRAP && cache_->is_in_stubs(rip);
    if (in_stubs || !cache_->contains(rip)) {
        // A fault of our own, as with an overwritten stack: the process dies of it as without a
        // handler. Leaving by the stubs would fault there again and again.
        ::signal(signal, SIG_DFL);
        return;
    }
    FaultInfo fault{.signal = signal, .address = no_page, .code_write = false};
    if (signal == SIGSEGV && static_cast<std::uint64_t>(registers[REG_TRAPNO]) == page_fault_trap) {
        const auto address = reinterpret_cast<std::uint64_t>(info.si_addr);
        const auto base = reinterpret_cast<std::uint64_t>(buffer_.base);
        if (base - address - 1 < TraceBuffer::guard_bytes) {
            cache_->context().fault_host_rip = rip;
            registers[REG_RIP] =
                reinterpret_cast<greg_t>(cache_->exit_stub(ExitReason::trace_full));
            return;
        }
        const auto* code = reinterpret_cast<const std::uint8_t*>(rip);
        if (cache_->indirect_targets().is_miss(code, address)) {
            registers[REG_RIP] = reinterpret_cast<greg_t>(cache_->miss_stub());
            return;
        }
        fault.address = {address - memory_.delta()};
        // Natively, an access to a non-canonical address is not a page fault.
        if (!is_canonical(fault.address.value))
            return leave_by_fault({.signal = signal, .address = no_page}, context);
        const bool is_write =
            (static_cast<std::uint64_t>(registers[REG_ERR]) & page_fault_write) != 0;
        switch (memory_.on_fault(fault.address, is_write)) {
            case GuestMemory::Fault::resolved:
                return;
            case GuestMemory::Fault::code_write:
                fault.code_write = true;
                break;
            case GuestMemory::Fault::unreadable:
                fault.signal = SIGBUS;
                break;
            case GuestMemory::Fault::guest:
                break;
        }
    }
    leave_by_fault(fault, context);
}

// Restores the guest's registers from changes by the translation, and goes to the exit.
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
