#include "ptrace/thread/thread_registers.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

namespace shadowprof::thread_registers_test {
namespace {

using Regset = std::array<std::byte, CpuState::xsave_bytes>;

template <typename T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// Every byte of the register set is 0xaa, except for a header that declares `present`.
Regset regset_with(std::uint64_t present) {
    Regset bytes;
    bytes.fill(std::byte{0xaa});
    std::memset(bytes.data() + 512, 0, 64);
    std::memcpy(bytes.data() + 512, &present, sizeof present);
    return bytes;
}

}  // namespace

TEST_CASE("components in their initial state get its bytes, whatever the area holds") {
    CpuState cpu;
    REQUIRE(load_extended(cpu, regset_with(0)));
    CHECK(at<std::uint16_t>(cpu.xsave, 0) == 0x37f);    // x87 control word
    CHECK(at<std::uint16_t>(cpu.xsave, 2) == 0);        // x87 status word
    CHECK(at<std::uint32_t>(cpu.xsave, 24) == 0x1f80);  // MXCSR
    CHECK(at<std::uint64_t>(cpu.xsave, 160) == 0);      // xmm0
    CHECK(at<std::uint64_t>(cpu.xsave, 576) == 0);      // upper ymm0
    CHECK(at<std::uint64_t>(cpu.xsave, 512) == 0);      // XSTATE_BV
}

TEST_CASE("components in use keep their bytes") {
    CpuState cpu;
    REQUIRE(load_extended(cpu, regset_with(7)));
    CHECK(at<std::uint16_t>(cpu.xsave, 0) == 0xaaaa);
    CHECK(at<std::uint32_t>(cpu.xsave, 24) == 0xaaaaaaaa);
    CHECK(at<std::uint64_t>(cpu.xsave, 160) == 0xaaaaaaaaaaaaaaaa);
    CHECK(at<std::uint64_t>(cpu.xsave, 576) == 0xaaaaaaaaaaaaaaaa);
}

TEST_CASE("MXCSR counts where AVX alone is in use") {
    CpuState cpu;
    REQUIRE(load_extended(cpu, regset_with(4)));
    CHECK(at<std::uint32_t>(cpu.xsave, 24) == 0xaaaaaaaa);
    CHECK(at<std::uint64_t>(cpu.xsave, 160) == 0);
}

TEST_CASE("MXCSR reaches the kernel where neither SSE nor AVX is in use") {
    constexpr std::uint32_t unusual = 0x1fa0;
    CpuState cpu;
    REQUIRE(load_extended(cpu, regset_with(0)));
    Regset regset = regset_with(0);
    REQUIRE(store_extended(cpu, regset));
    CHECK(at<std::uint64_t>(regset, 512) == 0);
    std::memcpy(cpu.xsave.data() + 24, &unusual, sizeof unusual);
    REQUIRE(store_extended(cpu, regset));
    CHECK(at<std::uint64_t>(regset, 512) == 2);
    CHECK(at<std::uint32_t>(regset, 24) == unusual);
    CHECK(at<std::uint64_t>(regset, 160) == 0);
}

TEST_CASE(
    "components that a sample does not carry are masked on the way in and kept on the way out") {
    constexpr std::uint64_t pkru = 1u << 9;
    CpuState cpu;
    REQUIRE(load_extended(cpu, regset_with(pkru | 3)));
    CHECK(at<std::uint64_t>(cpu.xsave, 512) == 3);
    Regset regset = regset_with(pkru);
    REQUIRE(store_extended(cpu, regset));
    CHECK(at<std::uint64_t>(regset, 512) == (pkru | 3));
}

TEST_CASE("a register set that is too short is refused") {
    CpuState cpu;
    Regset regset = regset_with(7);
    CHECK(!load_extended(cpu, std::span(regset).first(512)));
    CHECK(!store_extended(cpu, std::span(regset).first(512)));
    CHECK(!load_extended(cpu, std::span(regset).first(600)));  // AVX declared but missing
}

TEST_CASE("general registers survive both conversions") {
    user_regs_struct from{};
    std::uint64_t next = 1;
    for (auto* field :
         {&from.rax, &from.rbx, &from.rcx, &from.rdx,    &from.rsi,     &from.rdi,    &from.rbp,
          &from.rsp, &from.r8,  &from.r9,  &from.r10,    &from.r11,     &from.r12,    &from.r13,
          &from.r14, &from.r15, &from.rip, &from.eflags, &from.fs_base, &from.gs_base})
        *field = next++;
    CpuState cpu;
    load_general(cpu, from);
    CHECK(cpu[Gpr::rbx] == from.rbx);
    CHECK(cpu[Gpr::r15] == from.r15);
    user_regs_struct to{};
    store_general(cpu, to);
    CHECK(std::memcmp(&to, &from, sizeof to) == 0);
}

TEST_CASE("a thread in a restartable call is told from one in user mode") {
    user_regs_struct registers{};
    const auto blocked = [&](long number, long result) {
        registers.orig_rax = static_cast<unsigned long long>(number);
        registers.rax = static_cast<unsigned long long>(result);
        return blocked_syscall(registers);
    };
    CHECK(blocked(0, -512) == 0);
    CHECK(blocked(35, -516) == 35);
    CHECK(!blocked(-1, -512));  // user mode with an unlucky rax
    CHECK(!blocked(35, -4));
    CHECK(!blocked(35, -515));
}

}  // namespace shadowprof::thread_registers_test
