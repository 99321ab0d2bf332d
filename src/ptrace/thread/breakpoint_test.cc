#include "ptrace/thread/breakpoint.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "ptrace/test_support.h"
#include "ptrace/thread/process_memory.h"

// Counts up to rdi, and passes `breakpoint_turn` in each turn.
asm(R"(
        .intel_syntax noprefix
breakpoint_count:
        xor eax, eax
breakpoint_turn:
        inc rax
        cmp rax, rdi
        jne breakpoint_turn
        ret
breakpoint_cpuid:
        cpuid
breakpoint_behind:
        inc rbx
        ret
breakpoint_flags:
        pushfq
        pop rax
        dec rdi
        jnz breakpoint_flags
        ret
        .att_syntax
)");

extern "C" {
std::uint64_t breakpoint_count(std::uint64_t turns);
std::uint64_t breakpoint_flags(std::uint64_t turns);
extern const char breakpoint_turn[], breakpoint_cpuid[], breakpoint_behind[];
}

namespace shadowprof::breakpoint_test {
namespace {

using Advance = StoppedThread::Advance;

GuestAddress address_of(const void* place) {
    return {reinterpret_cast<std::uint64_t>(place)};
}

// A child that is stopped before `body`.
class TracedChild {
  public:
    TracedChild(WaitHub& hub, const std::function<int()>& body)
        : child_(hub,
                 [&] {
                     ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
                     raise(SIGSTOP);
                     return body();
                 }),
          thread_(hub, child_.pid(), first_stop(hub)) {}
    StoppedThread& thread() { return thread_; }

  private:
    WaitStatus first_stop(WaitHub& hub) const {
        const auto status = hub.wait_for(child_.pid());
        REQUIRE(status);
        return *status;
    }

    Child child_;
    StoppedThread thread_;
};

std::vector<BreakpointKind> kinds(WaitHub& hub) {
    std::vector kinds = {BreakpointKind::instruction};
    if (measure_breakpoint_kind(hub) == BreakpointKind::debug_register)
        kinds.push_back(BreakpointKind::debug_register);
    return kinds;
}

}  // namespace

TEST_CASE("a thread is led to a place each time that it comes by, and leaves nothing there") {
    TestHub hub;
    for (const auto kind : kinds(hub)) {
        CAPTURE(static_cast<int>(kind));
        TracedChild child(hub, [] { return breakpoint_count(5) == 5 ? 7 : 1; });
        auto& thread = child.thread();
        ProcessMemory memory(thread.tid());
        const auto at = address_of(breakpoint_turn);
        std::array<std::byte, 8> before, after;
        REQUIRE(memory.read(at, before));
        {
            auto breakpoint = Breakpoint::set(thread, at, kind);
            REQUIRE(breakpoint);
            for (std::uint64_t turn = 0; turn < 3; ++turn) {
                const auto stop = breakpoint->advance(Advance::to_syscall);
                REQUIRE(stop);
                CHECK(stop->is_there);
                const auto registers = thread.registers();
                CHECK(registers->rip == at.value);
                CHECK(registers->rax == turn);
                REQUIRE(memory.read(at, after));
                CHECK(before == after);
            }
        }
        const auto end = thread.advance(Advance::run);
        REQUIRE(!end);
        CHECK(hub.wait_for(thread.tid())->exit_code() == 7);
    }
}

TEST_CASE("a thread that stands at its breakpoint has come there once") {
    constexpr auto kind = BreakpointKind::instruction;
    TestHub hub;
    TracedChild child(hub, [] { return breakpoint_count(5) == 5 ? 7 : 1; });
    auto& thread = child.thread();
    const auto at = address_of(breakpoint_turn);
    REQUIRE(Breakpoint::set(thread, at, kind)->advance(Advance::to_syscall)->is_there);
    auto breakpoint = Breakpoint::set(thread, at, kind);
    for (const std::uint64_t turns : {0u, 1u, 2u}) {
        CHECK(breakpoint->advance(Advance::to_syscall)->is_there);
        CHECK(thread.registers()->rax == turns);
    }
}

TEST_CASE("what comes before a breakpoint is told") {
    TestHub hub;
    for (const auto kind : kinds(hub)) {
        CAPTURE(static_cast<int>(kind));
        TracedChild child(hub, [] {
            getppid();
            return breakpoint_count(2) == 2 ? 7 : 1;
        });
        auto breakpoint = Breakpoint::set(child.thread(), address_of(breakpoint_turn), kind);
        REQUIRE(breakpoint);
        const auto first = breakpoint->advance(Advance::to_syscall);
        REQUIRE(first);
        CHECK_FALSE(first->is_there);
        CHECK(first->status.kind() != WaitStatus::Kind::exited);
    }
}

TEST_CASE("a breakpoint at an instruction that stores the flags does not show in them") {
    TestHub hub;
    for (const auto kind : kinds(hub)) {
        CAPTURE(static_cast<int>(kind));
        constexpr std::uint64_t trap_flag = 0x100;
        TracedChild child(hub, [] { return (breakpoint_flags(3) & trap_flag) ? 1 : 7; });
        auto breakpoint = Breakpoint::set(
            child.thread(), address_of(reinterpret_cast<const void*>(breakpoint_flags)), kind);
        REQUIRE(breakpoint);
        for (int turn = 0; turn < 3; ++turn) CHECK(breakpoint->advance(Advance::run)->is_there);
        CHECK(!breakpoint->advance(Advance::run));
        CHECK(hub.wait_for(child.thread().tid())->exit_code() == 7);
    }
}

TEST_CASE("a step is one instruction, behind CPUID too") {
    TestHub hub;
    TracedChild child(hub, [] { return 0; });
    auto& thread = child.thread();
    auto registers = thread.registers();
    REQUIRE(registers);
    registers->rip = address_of(breakpoint_cpuid).value;
    REQUIRE(thread.set_registers(*registers));
    const auto stepped = step(thread);
    REQUIRE(stepped);
    CHECK(stepped->is_there);
    CHECK(thread.registers()->rip == address_of(breakpoint_behind).value);
    CHECK(step(thread)->is_there);
    CHECK(thread.registers()->rip == address_of(breakpoint_behind).value + 3);
}

}  // namespace shadowprof::breakpoint_test
