#include "emu/watch/region_watch.h"

#include <doctest/doctest.h>

#include <array>
#include <span>

namespace shadowprof {
namespace {

constexpr GuestAddress function{0x1000}, other{0x2000}, behind_call{0x3005};

RegionWatch watch_of_two() {
    RegionWatch watch;
    watch.set_entries({function, other});
    return watch;
}

TEST_CASE("A call counts from its entry to its return") {
    auto watch = watch_of_two();
    CHECK(watch.is_watched(function));
    CHECK_FALSE(watch.is_watched(behind_call));
    const auto entered = watch.step({.pc = function, .stack_pointer = 0x7ff0});
    CHECK(entered.enters);
    CHECK_FALSE(entered.leaves);
    CHECK(watch.await_return(behind_call));
    CHECK_FALSE(watch.await_return(behind_call));
    CHECK(watch.is_watched(behind_call));
    const auto left = watch.step({.pc = behind_call, .stack_pointer = 0x7ff8});
    CHECK(left.leaves);
    CHECK_FALSE(left.enters);
    CHECK_FALSE(watch.step({.pc = behind_call, .stack_pointer = 0x7ff8}).leaves);
}

TEST_CASE("Calls within a call do not end it") {
    auto watch = watch_of_two();
    watch.step({.pc = function, .stack_pointer = 0x7ff0});
    watch.await_return(behind_call);
    const auto inner = watch.step({.pc = other, .stack_pointer = 0x7f00});
    CHECK_FALSE(inner.enters);
    // The same call site, met in a call that the function makes.
    CHECK_FALSE(watch.step({.pc = behind_call, .stack_pointer = 0x7f08}).leaves);
    CHECK(watch.step({.pc = behind_call, .stack_pointer = 0x7ff8}).leaves);
}

TEST_CASE("The same step twice is one") {
    auto watch = watch_of_two();
    CHECK(watch.step({.pc = function, .stack_pointer = 0x7ff0}).enters);
    const auto again = watch.step({.pc = function, .stack_pointer = 0x7ff0});
    CHECK_FALSE(again.enters);
    CHECK_FALSE(again.leaves);
}

TEST_CASE("A call that was jumped out of has ended at the next one") {
    auto watch = watch_of_two();
    watch.step({.pc = function, .stack_pointer = 0x7f00});
    const auto next = watch.step({.pc = other, .stack_pointer = 0x7ff0});
    CHECK(next.leaves);
    CHECK(next.enters);
}

TEST_CASE("A call that is left by longjmp ends where the stack pointer is loaded") {
    auto watch = watch_of_two();
    const GuestAddress at{0x5000};
    const std::array<std::uint8_t, 3> from_r8 = {0x4c, 0x89, 0xc4}, from_rbp = {0x48, 0x89, 0xec};
    const auto load = Instruction::decode(std::as_bytes(std::span(from_r8)), at);
    const auto epilogue = Instruction::decode(std::as_bytes(std::span(from_rbp)), at + 3);
    CHECK(watch.watches(*load));
    CHECK_FALSE(watch.watches(*epilogue));
    CpuState cpu;
    cpu[Gpr::rsp] = 0x7e00;
    cpu[Gpr::r8] = 0x7f00;
    watch.step({.pc = function, .stack_pointer = 0x7f00});
    CHECK(watch.stack_pointer(function, cpu) == 0x7e00);
    CHECK(watch.stack_pointer(at, cpu) == 0x7f08);
    CHECK(watch.step({.pc = at, .stack_pointer = watch.stack_pointer(at, cpu)}).leaves);
}

TEST_CASE("Threads are told apart, also those with the same index") {
    auto watch = watch_of_two();
    watch.step({.thread = 1, .birth = 1, .pc = function, .stack_pointer = 0x7ff0});
    CHECK(watch.step({.thread = 0, .birth = 0, .pc = function, .stack_pointer = 0x5ff0}).enters);
    const auto reborn =
        watch.step({.thread = 1, .birth = 2, .pc = function, .stack_pointer = 0x6ff0});
    CHECK(reborn.enters);
    CHECK_FALSE(reborn.leaves);
}

}  // namespace
}  // namespace shadowprof
