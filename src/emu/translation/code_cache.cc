#include "emu/translation/code_cache.h"

#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "decoder/gpr_numbers.h"

namespace shadowprof {
namespace {

using gpr::rax, gpr::rbx, gpr::rcx, gpr::rdi, gpr::rdx, gpr::rsi, gpr::rsp;
constexpr std::array<std::uint8_t, 6> callee_saved = {3, 5, 12, 13, 14, 15};

// Guest registers that stay in host registers of the same number.
constexpr std::array<std::uint8_t, 12> kept_registers = {0, 1, 2, 3, 5, 6, 7, 8, 12, 13, 14, 15};

// The thread control block begins with its own address (x86-64 ABI).
std::uint64_t host_fs_base() {
    return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}

}  // namespace

Result<std::unique_ptr<CodeCache>> CodeCache::create(SignalFunction on_signal, void* self,
                                                     SegmentBases bases) {
    std::unique_ptr<CodeCache> cache(new CodeCache(bases));
    TRY(cache->map());
    cache->emit_stubs(on_signal, self);
    return cache;
}

CodeCache::~CodeCache() {
    if (region_) munmap(region_, region_bytes_);
}

Result<void> CodeCache::map() {
    region_bytes_ = context_bytes + code_bytes + IndirectTargets::memory_bytes;
    void* region =
        mmap(nullptr, region_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        return errno_error("emulator: cannot reserve address space for translated code");
    region_ = static_cast<std::uint8_t*>(region);
    if (mprotect(region_, context_bytes, PROT_READ | PROT_WRITE) != 0)
        return errno_error("emulator: cannot make its memory accessible");
    context_ = new (region_) ExecutionContext{};
    code_ = region_ + context_bytes;
    code_end_ = code_ + code_bytes;
    memory_ = {std::as_writable_bytes(std::span(code_, code_bytes)),
               PROT_READ | PROT_WRITE | PROT_EXEC, growth_bytes};
    if (!memory_.reach(growth_bytes))
        return errno_error("emulator: this system does not allow memory for translated code");
    limit_ = code_end_;
    indirect_targets_.emplace(code_end_, code_);
    return {};
}

void CodeCache::commit(const CodeBuffer& buffer) {
    next_ = buffer.position();
    const auto wanted = static_cast<std::size_t>(next_ - code_) + max_appended_bytes;
    limit_ = memory_.reach(std::min(wanted, code_bytes)) ? code_end_
                                                         : code_ + memory_.accessible_bytes();
}

void CodeCache::emit_stubs(SignalFunction on_signal, void* self) {
    CodeBuffer out(code_, code_end_, context_, bases_);
    // The miss stub must be first: an empty table entry is 0, an offset from here.
    constexpr std::size_t exit_stub_bytes = 15;
    auto* exit_common = code_ + exit_reasons * exit_stub_bytes;
    constexpr std::array<ExitReason, exit_reasons> order = {
        ExitReason::indirect_miss, ExitReason::direct_branch, ExitReason::syscall,
        ExitReason::vdso_call,     ExitReason::single_step,   ExitReason::fault,
        ExitReason::trace_full,    ExitReason::retired_block, ExitReason::instrumented,
        ExitReason::awaited};
    for (auto reason : order) {
        exits_[static_cast<std::size_t>(reason)] = out.position();
        out.store_imm32(offsetof(ExecutionContext, exit_reason),
                        static_cast<std::uint32_t>(reason));
        out.jump(exit_common);
    }
    assert(out.position() == exit_common);
    emit_exit_common(out);
    enter_ = out.position();
    emit_enter(out);
    signal_entry_ = out.position();
    emit_signal_entry(out, on_signal, self);
    first_ = next_ = out.position();
}

void CodeCache::emit_enter(CodeBuffer& out) {
    for (auto reg : callee_saved) out.push(reg);
    out.store(offsetof(ExecutionContext, host_rsp), rsp);
    out.context_bytes({0x0f, 0xae, 0x1d}, offsetof(ExecutionContext, host_mxcsr));  // stmxcsr
    out.context_bytes({0xd9, 0x3d}, offsetof(ExecutionContext, host_x87_control));  // fnstcw
    if (bases_ == SegmentBases::by_instruction) {
        out.load(rax, offsetof(ExecutionContext, host_guest_fs));
        out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xd0});  // wrfsbase rax
        out.load(rax, offsetof(ExecutionContext, delta));
        out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xd8});  // wrgsbase rax
    }
    out.move_imm(rax, CpuState::xsave_components);
    out.move_imm(rdx, 0);
    out.context_bytes({0x48, 0x0f, 0xae, 0x2d}, offsetof(ExecutionContext, xsave));  // xrstor64
    out.context_bytes({0xff, 0x35}, offsetof(ExecutionContext, rflags));             // push
    out.bytes({0x9d});                                                               // popfq
    for (auto reg : kept_registers) out.load(reg, gpr_slot(reg));
    out.load(host::guest_rsp, gpr_slot(rsp));
    out.load(rsp, offsetof(ExecutionContext, trace_cursor));
    out.context_bytes({0xff, 0x25}, offsetof(ExecutionContext, entry));  // jmp
}

void CodeCache::emit_exit_common(CodeBuffer& out) {
    for (auto reg : kept_registers) out.store(gpr_slot(reg), reg);
    out.store(gpr_slot(rsp), host::guest_rsp);
    out.store(offsetof(ExecutionContext, trace_cursor), rsp);
    out.load(rsp, offsetof(ExecutionContext, host_rsp));
    out.bytes({0x9c});                                                    // pushfq
    out.context_bytes({0x8f, 0x05}, offsetof(ExecutionContext, rflags));  // pop
    out.bytes({0x6a, 0x02, 0x9d});  // push 2; popfq: no DF, no AC, no TF
    if (bases_ == SegmentBases::by_instruction) {
        out.load(rax, offsetof(ExecutionContext, host_fs));
        out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xd0});  // wrfsbase rax
    }
    out.move_imm(rax, CpuState::xsave_components);
    out.move_imm(rdx, 0);
    out.context_bytes({0x48, 0x0f, 0xae, 0x25}, offsetof(ExecutionContext, xsave));  // xsave64
    if (__builtin_cpu_supports("avx")) out.bytes({0xc5, 0xf8, 0x77});                // vzeroupper
    out.bytes({0xdb, 0xe3});                                                         // fninit
    out.context_bytes({0xd9, 0x2d}, offsetof(ExecutionContext, host_x87_control));   // fldcw
    out.context_bytes({0x0f, 0xae, 0x15}, offsetof(ExecutionContext, host_mxcsr));   // ldmxcsr
    for (auto reg = callee_saved.rbegin(); reg != callee_saved.rend(); ++reg) out.pop(*reg);
    out.bytes({0xc3});
}

void CodeCache::emit_signal_entry(CodeBuffer& out, SignalFunction on_signal, void* self) {
    const bool changes_fs = bases_ == SegmentBases::by_instruction;
    out.push(rbx);
    // Clears AC, which the kernel leaves as the guest has it: our code makes unaligned accesses.
    // The other flags stay, as the guest goes on with the ID flag that the handler ends with.
    out.bytes({0x9c, 0x81, 0x24, 0x24, 0xff, 0xff, 0xfb, 0xff, 0x9d});  // pushfq; and; popfq
    if (changes_fs) {
        out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xc3});  // rdfsbase rbx
        out.load(rcx, offsetof(ExecutionContext, host_fs));
        out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xd1});  // wrfsbase rcx
    }
    out.move(rcx, rdx);
    out.move(rdx, rsi);
    out.move32(rsi, rdi);
    out.move_imm(rdi, reinterpret_cast<std::uint64_t>(self));
    out.move_imm(rax, reinterpret_cast<std::uint64_t>(on_signal));
    out.bytes({0xff, 0xd0});                                    // call rax
    if (changes_fs) out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xd3});  // wrfsbase rbx
    out.pop(rbx);
    out.bytes({0xc3});
}

void CodeCache::enter() {
    context_->host_fs = host_fs_base();
    if (bases_ == SegmentBases::by_kernel && context_->delta != gs_base_) {
        gs_base_ = context_->delta;
        [[maybe_unused]] const auto refused = syscall(SYS_arch_prctl, ARCH_SET_GS, gs_base_);
        assert(!refused);
    }
    reinterpret_cast<void (*)()>(const_cast<std::uint8_t*>(enter_))();
}

void CodeCache::clear() {
    next_ = first_;
    indirect_targets_->clear();
}

}  // namespace shadowprof
