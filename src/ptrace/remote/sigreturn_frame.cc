#include "ptrace/remote/sigreturn_frame.h"

#include <asm/sigcontext.h>
#include <cpuid.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace shadowprof {
namespace {

// struct ucontext of the kernel (asm/ucontext.h), which glibc hides behind its own.
struct KernelContext {
    std::uint64_t flags;
    std::uint64_t link;
    std::uint64_t stack_pointer;  // stack_t
    std::uint64_t stack_flags;
    std::uint64_t stack_bytes;
    sigcontext_64 registers;
    std::uint64_t signal_mask;
};

// UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS.
constexpr std::uint64_t context_flags = 1 | 2 | 4;
// Invalid flags of an alternate signal stack, so that the kernel keeps the thread's own.
constexpr std::uint64_t no_stack_flags = 0x7f;
// x87, SSE, AVX, AVX-512 and protection keys. Threads that use AMX tiles are not borrowed.
constexpr std::uint64_t component_mask = 0x2e7;
constexpr std::uint64_t tile_components = 0x60000;
constexpr std::size_t extended_alignment = 64;
constexpr std::size_t software_bytes_offset = 464;  // in the legacy region
constexpr std::size_t xstate_bv_offset = 512;

// Returns the size of an XSAVE area with these components (Intel SDM vol. 1, 13.4.3).
std::size_t area_bytes(std::uint64_t components) {
    std::size_t end = xstate_bv_offset + 64;
    for (unsigned i = 2; i < 20; ++i) {
        unsigned size = 0, offset = 0, c = 0, d = 0;
        if (!(components >> i & 1) || !__get_cpuid_count(0xd, i, &size, &offset, &c, &d)) continue;
        end = std::max<std::size_t>(end, offset + size);
    }
    return end;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

sigcontext_64 registers_of(const user_regs_struct& from, GuestAddress extended) {
    sigcontext_64 to = {};
    to.r8 = from.r8;
    to.r9 = from.r9;
    to.r10 = from.r10;
    to.r11 = from.r11;
    to.r12 = from.r12;
    to.r13 = from.r13;
    to.r14 = from.r14;
    to.r15 = from.r15;
    to.di = from.rdi;
    to.si = from.rsi;
    to.bp = from.rbp;
    to.bx = from.rbx;
    to.dx = from.rdx;
    to.ax = from.rax;
    to.cx = from.rcx;
    to.sp = from.rsp;
    to.ip = from.rip;
    to.flags = from.eflags;
    to.cs = static_cast<__u16>(from.cs);
    to.ss = static_cast<__u16>(from.ss);
    to.fpstate = extended.value;
    return to;
}

void write_context(const user_regs_struct& registers, std::uint64_t signal_mask,
                   GuestAddress extended, std::span<std::byte> to) {
    KernelContext context = {};
    context.flags = context_flags;
    context.stack_flags = no_stack_flags;
    context.registers = registers_of(registers, extended);
    context.signal_mask = signal_mask;
    std::memcpy(to.data(), &context, sizeof context);
}

static_assert(sizeof(KernelContext) == sigreturn_context_bytes);
static_assert(offsetof(KernelContext, registers) + offsetof(sigcontext_64, di) ==
              sigreturn_rdi_offset);

}  // namespace

Result<std::size_t> write_sigreturn_frame(const user_regs_struct& registers,
                                          std::uint64_t signal_mask,
                                          std::span<const std::byte> extended,
                                          std::span<std::byte> to, GuestAddress at) {
    const auto no_room =
        Error{ErrorCode::unsupported, 0, "the registers of a thread take more room than expected"};
    if (to.size() < sizeof(KernelContext)) return no_room;
    if (extended.empty()) {
        write_context(registers, signal_mask, {0}, to);
        return sizeof(KernelContext);
    }
    const auto state_offset =
        (sizeof(KernelContext) + extended_alignment - 1) / extended_alignment * extended_alignment;
    if (extended.size() < xstate_bv_offset + 64) return no_room;
    const auto in_use = word_at(extended, xstate_bv_offset);
    // In the software bytes, ptrace shows XCR0, where a frame has its size.
    const auto components = word_at(extended, software_bytes_offset) & component_mask;
    const auto size = area_bytes(components);
    const std::uint32_t magic_at_end = FP_XSTATE_MAGIC2;
    if ((in_use & tile_components) || size > extended.size() ||
        at.value % extended_alignment != 0 || state_offset + size + sizeof magic_at_end > to.size())
        return no_room;
    auto* state = to.data() + state_offset;
    std::memcpy(state, extended.data(), size);
    const auto kept = in_use & components;
    std::memcpy(state + xstate_bv_offset, &kept, sizeof kept);
    _fpx_sw_bytes software = {};
    software.magic1 = FP_XSTATE_MAGIC1;
    software.extended_size = static_cast<__u32>(size + sizeof magic_at_end);
    software.xfeatures = components;
    software.xstate_size = static_cast<__u32>(size);
    std::memcpy(state + software_bytes_offset, &software, sizeof software);
    std::memcpy(state + size, &magic_at_end, sizeof magic_at_end);
    write_context(registers, signal_mask, at + state_offset, to);
    return state_offset + size + sizeof magic_at_end;
}

}  // namespace shadowprof
