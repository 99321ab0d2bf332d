// What the kernel's clock sees of a child, where we may use it.
#include "ptrace/clock/clock_events.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "ptrace/clock/kernel_symbols.h"
#include "ptrace/test_support.h"

namespace shadowprof::clock_events_test {
namespace {

using namespace std::chrono_literals;

// What is kept of an event.
struct Tick {
    CpuState cpu;
    std::vector<std::uint64_t> kernel_calls;
    std::size_t stack_bytes = 0;
    std::uint64_t top = 0;  // of the stack
    std::chrono::steady_clock::time_point time;
};

// Returns the ticks at a child; none where the clock is not for us.
std::vector<Tick> ticks_of(const std::function<int()>& body, std::size_t wanted) {
    auto clock = ClockEvents::open(1ms);
    if (!clock) {
        MESSAGE("not tested: ", clock.error().message);
        return {};
    }
    TestHub hub;
    const Child child(hub, body);
    std::vector<Tick> ticks;
    clock->run(true);
    CHECK(wait_until([&] {
        clock->read([&](const ClockEvent& event) {
            if (event.pid != child.pid() || event.user_registers.empty()) return;
            CHECK(event.tid == child.pid());
            Tick& tick = ticks.emplace_back();
            tick.cpu = event.cpu_state();
            tick.kernel_calls = event.outer_kernel_calls(4);
            tick.stack_bytes = event.stack.size();
            tick.time = event.time;
            if (event.stack.size() >= sizeof tick.top)
                std::memcpy(&tick.top, event.stack.data(), sizeof tick.top);
        });
        clock->change_period(1100us);
        return ticks.size() >= wanted;
    }));
    clock->run(false);
    return ticks;
}

// Whether an address is in this function, or in one that follows closely.
template <typename Function>
bool is_in(GuestAddress at, Function* function, std::uint64_t bytes) {
    const auto start = reinterpret_cast<std::uint64_t>(function);
    return at.value >= start && at.value - start < bytes;
}

// Never returns. The top of its stack is known.
__attribute__((noinline)) int spin_on_known_stack() {
    asm volatile(
        "push %0\n"
        "1: jmp 1b\n" ::"r"(std::uint64_t{0x1234567}));
    return 0;
}

}  // namespace

TEST_CASE("a tick has the registers and the stack of the thread, also around the ring's end") {
    const auto begin = std::chrono::steady_clock::now();
    // A ring has room for 64 records.
    const auto ticks = ticks_of(spin_on_known_stack, 200);
    std::size_t in_code = 0;
    for (const Tick& tick : ticks) {
        CHECK(tick.time > begin);
        CHECK(tick.time < std::chrono::steady_clock::now());
        if (!is_in(tick.cpu.rip, &spin_on_known_stack, 64) || !tick.kernel_calls.empty()) continue;
        ++in_code;
        CHECK(tick.stack_bytes > 64);
        CHECK(tick.top == 0x1234567);
    }
    CHECK(in_code * 10 >= ticks.size() * 8);
}

TEST_CASE("a tick in the kernel has the way into it") {
    const auto ticks = ticks_of(
        [] {
            std::array<char, 65536> bytes;
            while (::getrandom(bytes.data(), bytes.size(), 0) > 0) continue;
            return 0;
        },
        50);
    const auto symbols = KernelSymbols::read();
    std::size_t in_kernel = 0, in_call = 0;
    for (const Tick& tick : ticks) {
        if (tick.kernel_calls.empty()) continue;
        ++in_kernel;
        const KernelEntry of_call{KernelEntry::Cause::system_call, SYS_getrandom};
        in_call += symbols && symbols->entry(tick.kernel_calls) == of_call;
    }
    CHECK(in_kernel * 10 >= ticks.size() * 8);
    if (symbols) CHECK(in_call * 10 >= in_kernel * 8);
}

TEST_CASE("a page fault is told from a system call") {
    const auto symbols = KernelSymbols::read();
    const auto ticks = ticks_of(
        [] {
            constexpr std::size_t bytes = std::size_t{8} << 20;
            auto* pages = static_cast<char*>(
                ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            while (pages != MAP_FAILED) {
                for (std::size_t at = 0; at < bytes; at += 4096) pages[at] = 1;
                ::madvise(pages, bytes, MADV_DONTNEED);
            }
            return 0;
        },
        100);
    if (ticks.empty() || !symbols) return;
    std::size_t faults = 0;
    for (const Tick& tick : ticks)
        faults += symbols->entry(tick.kernel_calls).cause == KernelEntry::Cause::page_fault;
    CHECK(faults > 0);
}

}  // namespace shadowprof::clock_events_test
