// The registers of one guest thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/guest_address.h"

namespace shadowprof {

// The size of a SYSCALL instruction. While the kernel makes the call, the program counter is behind
// it.
inline constexpr std::uint64_t syscall_instruction_bytes = 2;

// The numbers are those of instruction encodings (Intel SDM vol. 2, table 2-2).
enum class Gpr : std::uint8_t {
    rax,
    rcx,
    rdx,
    rbx,
    rsp,
    rbp,
    rsi,
    rdi,
    r8,
    r9,
    r10,
    r11,
    r12,
    r13,
    r14,
    r15
};

// All registers that a thread's instructions can see. Trivially copyable: it crosses process
// boundaries as bytes.
struct CpuState {
    // The extended state components that a sample carries: x87, SSE, AVX, opmask, ZMM_Hi256 and
    // Hi16_ZMM (Intel SDM vol. 1, 13.1). Their standard-format XSAVE area fits `xsave_bytes`.
    static constexpr std::uint64_t xsave_components = 0xe7;
    static constexpr std::size_t xsave_bytes = 2816;

    // XSAVE area in the standard (not compacted) format.
    alignas(64) std::array<std::byte, xsave_bytes> xsave{};
    std::array<std::uint64_t, 16> gpr{};  // indexed by Gpr
    GuestAddress rip;
    std::uint64_t rflags = 0x202;
    std::uint64_t fs_base = 0;
    std::uint64_t gs_base = 0;

    std::uint64_t& operator[](Gpr r) { return gpr[static_cast<std::size_t>(r)]; }
    std::uint64_t operator[](Gpr r) const { return gpr[static_cast<std::size_t>(r)]; }
};

}  // namespace shadowprof
