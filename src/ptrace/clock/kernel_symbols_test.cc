// Why a thread is in the kernel, by the kernel's symbols.
#include "ptrace/clock/kernel_symbols.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>

#include <array>

namespace shadowprof {
namespace {

using Cause = KernelEntry::Cause;

constexpr std::string_view text =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000130 T entry_SYSCALL_64_after_hwframe\n"
    "ffffffff81000c60 T asm_exc_page_fault\n"
    "ffffffff81000df0 T asm_sysvec_apic_timer_interrupt\n"
    "ffffffff81000e00 T asm_end\n"
    "ffffffff81200000 t x64_sys_call\n"
    "ffffffff81300000 T __x64_sys_read\n"
    "ffffffff81300040 T vfs_read\n"
    "ffffffff81300080 d __x64_sys_of_data\n"
    "ffffffff81300100 T ksys_write\n"
    "ffffffff81300100 T alias_of_write\n"
    "ffffffff81300200 T __x64_sys_newuname\n"
    "ffffffff81400000 T do_syscall_64\n"
    "ffffffff81400100 T after\n"
    "ffffffffc0000000 t in_a_module\t[module]\n"
    "no line\n"
    "ffffffffc0001000";

constexpr std::uint64_t entry = 0xffffffff81000140, do_syscall = 0xffffffff81400020;

}  // namespace

TEST_CASE("a system call is told by the outermost function that is its own") {
    const KernelSymbols symbols(text);
    const auto call = [&](std::uint64_t inner) {
        return symbols.entry(std::array{entry, do_syscall, inner, std::uint64_t{0}});
    };
    CHECK(call(0xffffffff81300010) == KernelEntry{Cause::system_call, SYS_read});
    CHECK(call(0xffffffff8130003f) == KernelEntry{Cause::system_call, SYS_read});
    // Its wrapper ended in a jump.
    CHECK(call(0xffffffff81300100) == KernelEntry{Cause::system_call, SYS_write});
    CHECK(call(0xffffffff81300210) == KernelEntry{Cause::system_call, SYS_uname});
    CHECK(call(0xffffffff81300050) == KernelEntry{});
    CHECK(call(0xffffffff81400200) == KernelEntry{});
    CHECK(call(0xffffffffc0000010) == KernelEntry{});
    const std::uint64_t table = 0xffffffff81200010;
    CHECK(symbols.entry(std::array{entry, do_syscall, table, std::uint64_t{0xffffffff81300001}}) ==
          KernelEntry{Cause::system_call, SYS_read});
}

TEST_CASE("faults and interrupts are no system calls") {
    const KernelSymbols symbols(text);
    CHECK(symbols.entry(std::array<std::uint64_t, 1>{0xffffffff81000c70}).cause ==
          Cause::page_fault);
    CHECK(symbols.entry(std::array<std::uint64_t, 1>{0xffffffff81000df8}).cause ==
          Cause::interrupt);
    CHECK(symbols.entry(std::array<std::uint64_t, 1>{0xffffffff81000e10}).cause == Cause::unknown);
    CHECK(symbols.entry(std::array<std::uint64_t, 1>{0x1000}).cause == Cause::unknown);
    CHECK(symbols.entry({}).cause == Cause::unknown);
}

TEST_CASE("symbols that are said to be readable can be read") {
    CHECK(KernelSymbols::are_readable() == KernelSymbols::read().has_value());
}

TEST_CASE("a kernel that hides its addresses has no symbols") {
    CHECK(
        KernelSymbols("0000000000000000 T do_syscall_64\n0000000000000000 T ksys_read\n").empty());
    CHECK(KernelSymbols("").empty());
}

}  // namespace shadowprof
