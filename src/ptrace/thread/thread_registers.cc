#include "ptrace/thread/thread_registers.h"

#include <algorithm>
#include <cstring>

#include "base/xsave_layout.h"

namespace shadowprof {
namespace {

// The legacy region and the header of an XSAVE area (Intel SDM vol. 1, 13.4.1 and 13.4.2).
constexpr std::size_t fcw_at = 0, mxcsr_at = 24, st_at = 32, xmm_at = 160, reserved_at = 416;
constexpr std::size_t xstate_bv_at = 512, xcomp_bv_at = 520, extended_at = 576;
constexpr std::uint16_t initial_fcw = 0x37f;
constexpr std::uint32_t initial_mxcsr = 0x1f80;
constexpr std::uint64_t x87 = 1u << 0, sse = 1u << 1, avx = 1u << 2;
constexpr unsigned first_extended_component = 2, component_count = 8;

template <typename T>
T get(std::span<const std::byte> bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <typename T>
void put(std::span<std::byte> bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

void copy_range(std::span<std::byte> to, std::span<const std::byte> from, std::size_t at,
                std::size_t size) {
    std::memcpy(to.data() + at, from.data() + at, size);
}

Result<void> check_size(std::span<const std::byte> regset) {
    if (regset.size() < extended_at)
        return Error{ErrorCode::invalid, 0, "the kernel reports too few vector registers (XSAVE)"};
    for (unsigned i = first_extended_component; i < component_count; ++i) {
        const auto [offset, size] = host_xsave_range(i);
        if (offset + size > CpuState::xsave_bytes)
            return Error{ErrorCode::unsupported, 0,
                         "this processor lays out its vector registers (XSAVE) in a way that "
                         "shadowprof does not know"};
    }
    return {};
}

void load_x87_and_sse(std::span<std::byte> to, std::span<const std::byte> from,
                      std::uint64_t present) {
    if (present & x87) {
        copy_range(to, from, 0, mxcsr_at);
        copy_range(to, from, st_at, xmm_at - st_at);
    } else {
        put(to, fcw_at, initial_fcw);
    }
    // MXCSR belongs to SSE and to AVX (Intel SDM vol. 1, 13.5.2).
    copy_range(to, from, mxcsr_at, 2 * sizeof(std::uint32_t));
    if (!(present & (sse | avx))) put(to, mxcsr_at, initial_mxcsr);
    if (present & sse) copy_range(to, from, xmm_at, reserved_at - xmm_at);
}

}  // namespace

void load_general(CpuState& to, const user_regs_struct& from) {
    to.gpr = {from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp, from.rsi, from.rdi,
              from.r8,  from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15};
    to.rip = {from.rip};
    to.rflags = from.eflags;
    to.fs_base = from.fs_base;
    to.gs_base = from.gs_base;
}

void store_general(const CpuState& from, user_regs_struct& to) {
    to.rax = from[Gpr::rax];
    to.rcx = from[Gpr::rcx];
    to.rdx = from[Gpr::rdx];
    to.rbx = from[Gpr::rbx];
    to.rsp = from[Gpr::rsp];
    to.rbp = from[Gpr::rbp];
    to.rsi = from[Gpr::rsi];
    to.rdi = from[Gpr::rdi];
    to.r8 = from[Gpr::r8];
    to.r9 = from[Gpr::r9];
    to.r10 = from[Gpr::r10];
    to.r11 = from[Gpr::r11];
    to.r12 = from[Gpr::r12];
    to.r13 = from[Gpr::r13];
    to.r14 = from[Gpr::r14];
    to.r15 = from[Gpr::r15];
    to.rip = from.rip.value;
    to.eflags = from.rflags;
    to.fs_base = from.fs_base;
    to.gs_base = from.gs_base;
}

Result<void> load_extended(CpuState& to, std::span<const std::byte> regset) {
    TRY(check_size(regset));
    const auto present = get<std::uint64_t>(regset, xstate_bv_at) & CpuState::xsave_components;
    to.xsave.fill(std::byte{0});
    load_x87_and_sse(to.xsave, regset, present);
    put(std::span<std::byte>(to.xsave), xstate_bv_at, present);
    for (unsigned i = first_extended_component; i < component_count; ++i) {
        const auto [offset, size] = host_xsave_range(i);
        if (!(present >> i & 1)) continue;
        if (offset + size > regset.size()) return check_size({});
        copy_range(to.xsave, regset, offset, size);
    }
    return {};
}

Result<void> store_extended(const CpuState& from, std::span<std::byte> regset) {
    TRY(check_size(regset));
    const std::span<const std::byte> source(from.xsave);
    auto present = get<std::uint64_t>(source, xstate_bv_at) & CpuState::xsave_components;
    // XRSTOR takes MXCSR whatever components are present, but the kernel only with SSE or AVX.
    if (get<std::uint32_t>(source, mxcsr_at) != initial_mxcsr) present |= sse;
    const auto others = get<std::uint64_t>(regset, xstate_bv_at) & ~CpuState::xsave_components;
    copy_range(regset, source, 0, reserved_at);
    put(regset, xstate_bv_at, others | present);
    put(regset, xcomp_bv_at, std::uint64_t{0});
    for (unsigned i = first_extended_component; i < component_count; ++i) {
        const auto [offset, size] = host_xsave_range(i);
        if (offset + size <= regset.size()) copy_range(regset, source, offset, size);
    }
    return {};
}

std::optional<std::uint64_t> blocked_syscall(const user_regs_struct& registers) {
    // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK of the kernel's errno.h.
    constexpr std::array<std::int64_t, 4> restart_codes = {-512, -513, -514, -516};
    const auto number = static_cast<std::int64_t>(registers.orig_rax);
    const auto result = static_cast<std::int64_t>(registers.rax);
    if (number < 0) return std::nullopt;
    if (std::find(restart_codes.begin(), restart_codes.end(), result) == restart_codes.end())
        return std::nullopt;
    return registers.orig_rax;
}

}  // namespace shadowprof
