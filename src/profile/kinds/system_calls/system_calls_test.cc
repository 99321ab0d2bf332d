// System calls, from a trace into a profile.
#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"
#include "profile/merge/phase.h"

namespace shadowprof::system_calls_test {
namespace {

using namespace testing;

// A function at 0x2000 that makes a system call and is called at 0x1000 and at 0x1100.
struct Calls {
    TestProgram program;
    BlockId first = program.add(0x1000, Terminator::call, 0x2000);
    BlockId behind = program.add(0x1010, Terminator::jump, 0x1100);
    BlockId second = program.add(0x1100, Terminator::call, 0x2000);
    BlockId call = program.add(0x2000, Terminator::syscall);
    BlockId leave = program.add(0x2010, Terminator::ret);
    TestRun run{{.system_calls = true}};

    void execute(std::initializer_list<BlockId> blocks) {
        for (const BlockId id : blocks) run.add(program, {id});
    }
    void make_call(std::uint64_t number) {
        execute({call});
        run.collector.add_probed({.pc = {0x200e}, .value = number, .probe = system_call_note});
    }
    void note(std::uint32_t kind, std::uint64_t number, std::uint64_t key,
              std::uint32_t thread = 0) {
        run.collector.add_probed({.pc = {0x200e},
                                  .value = number,
                                  .key = key,
                                  .probe = kind,
                                  .missed = 0,
                                  .thread = thread,
                                  .place = 0});
    }
    std::vector<SystemCall> end() {
        run.collector.end();
        return run.result().system_calls;
    }
};

std::vector<std::uint64_t> callers(const SystemCall& call) {
    std::vector<std::uint64_t> addresses;
    for (const CodeLocation at : call.callers) addresses.push_back(at.address);
    return addresses;
}

TEST_CASE("a system call has the callers of the code that makes it") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first});
    calls.make_call(39);
    calls.execute({calls.leave, calls.behind, calls.second});
    calls.make_call(39);
    calls.execute({calls.leave});
    const auto seen = calls.end();
    REQUIRE(seen.size() == 2);
    for (const SystemCall& call : seen) {
        CHECK(call.call == "getpid");
        CHECK(call.at.address == 0x200e);
        CHECK(call.count == 1);
    }
    CHECK(callers(seen[0]) == std::vector<std::uint64_t>{0x100f});
    CHECK(callers(seen[1]) == std::vector<std::uint64_t>{0x110f});
}

TEST_CASE("calls that are skipped, not asked for or behind damage do not count") {
    Calls calls;
    calls.run.begin({0x1000}, 1'000'000);
    calls.execute({calls.first});
    calls.make_call(39);
    CHECK(calls.end().empty());
    calls.run.begin();
    calls.execute({calls.first});
    calls.run.add(calls.program, {0xdead});
    calls.make_call(39);
    CHECK(calls.end().empty());
    TestRun deaf;
    deaf.begin();
    deaf.add(calls.program, {calls.first, calls.call});
    deaf.collector.add_probed({.pc = {0x200e}, .value = 39, .probe = system_call_note});
    deaf.collector.end();
    CHECK(deaf.result().system_calls.empty());
}

TEST_CASE("each thread's calls have its own callers") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first});
    calls.run.collector.begin_thread(1, {});
    const std::vector<std::uint64_t> other = batch({calls.second, calls.call});
    calls.run.collector.add(1, other, calls.program.table());
    calls.run.collector.add_probed(
        {.pc = {0x200e}, .value = 1, .probe = system_call_note, .thread = 1});
    calls.make_call(0);
    const auto seen = calls.end();
    REQUIRE(seen.size() == 2);
    for (const SystemCall& call : seen)
        CHECK(callers(call) == std::vector<std::uint64_t>{call.call == "read" ? 0x100fu : 0x110fu});
}

TEST_CASE("a result is that of the call that has returned") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first, calls.call});
    calls.note(system_call_note, 0, 0x7000);
    calls.note(call_result_note, 0, 100);
    calls.execute({calls.leave, calls.behind, calls.second, calls.call});
    calls.note(system_call_note, 0, 0x7000);
    calls.note(call_result_note, 1, 7);  // of no call that was made
    calls.note(call_result_note, 0, std::uint64_t(-4));
    calls.note(call_result_note, 0, 5000);  // no more than one result
    const auto seen = calls.end();
    REQUIRE(seen.size() == 2);
    for (const SystemCall& call : seen) {
        const bool is_first = callers(call) == std::vector<std::uint64_t>{0x100f};
        CHECK(call.count == 1);
        CHECK(call.failed == (is_first ? 0 : 1));
        CHECK(call.bytes == (is_first ? 100 : 0));
    }
}

TEST_CASE("a call that begins again is one call, also around a handler's") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first, calls.call});
    calls.note(system_call_note, 0, 0x7000);
    // The handler makes the same call deeper in the stack, and returns by rt_sigreturn.
    calls.note(system_call_note, 0, 0x6000);
    calls.note(call_result_note, 0, 30);
    calls.note(system_call_note, 15, 0x6800);
    calls.note(repeated_call_note, 0, 0x7000);
    calls.note(call_result_note, 0, 100);
    const auto reads = [&] {
        auto seen = calls.end();
        std::erase_if(seen, [](const SystemCall& call) { return call.call != "read"; });
        return seen;
    }();
    REQUIRE(reads.size() == 1);
    CHECK(reads[0].count == 2);
    CHECK(reads[0].failed == 0);
    CHECK(reads[0].bytes == 130);
}

TEST_CASE("a call that was not noted before begins, even if it seems to begin again") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first, calls.call});
    calls.note(repeated_call_note, 0, 0x7000);
    calls.note(call_result_note, 0, 1);
    calls.note(repeated_call_note, 0, 0x7000);
    calls.note(system_call_note, 0, 0x7000);  // the one before has not returned
    calls.note(call_result_note, 0, 10);
    const auto seen = calls.end();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].count == 3);
    CHECK(seen[0].bytes == 11);
}

TEST_CASE("results of calls outlive the sample, and no thread gets another's") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first, calls.call});
    calls.note(system_call_note, 0, 0x7000);
    calls.run.collector.begin_thread(1, {});
    calls.note(call_result_note, 0, 100, 1);
    calls.run.collector.end();
    calls.run.begin();
    calls.note(call_result_note, 0, 20);
    const auto seen = calls.end();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].bytes == 20);
}

TEST_CASE("many calls that never return leave room for those that do") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first, calls.call});
    for (std::uint64_t i = 0; i < 10 * CallsInProgress::max_calls; ++i)
        calls.note(system_call_note, 15, 0x1000 + i);
    calls.note(system_call_note, 0, 0x7000);
    calls.note(call_result_note, 0, 8);
    const auto seen = calls.end();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].count == 10 * CallsInProgress::max_calls);
    CHECK(seen[1].bytes == 8);
}

TEST_CASE("a phase has the calls that came since") {
    Profile earlier, later;
    earlier.system_calls = {{{0, 1}, "read", {}, 5}, {{0, 2}, "write", {}, 4}};
    later.system_calls = {
        {{0, 1}, "read", {}, 7}, {{0, 2}, "write", {}, 4}, {{0, 3}, "open", {}, 1}};
    const auto phase = phase_between(later, earlier).system_calls;
    REQUIRE(phase.size() == 2);
    CHECK(phase[0] == SystemCall{{0, 1}, "read", {}, 2});
    CHECK(phase[1] == SystemCall{{0, 3}, "open", {}, 1});
}

TEST_CASE("a call with which the sample ends counts") {
    Calls calls;
    calls.run.begin();
    calls.execute({calls.first});
    calls.make_call(0);
    const auto seen = calls.end();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].call == "read");
    CHECK(seen[0].callers.size() == 1);
}

TEST_CASE("calls weigh as their samples do") {
    Calls calls;
    calls.run.begin_weighted(3, {0x1000});
    calls.execute({calls.first});
    calls.make_call(39);
    calls.execute({calls.leave});
    calls.run.collector.end();
    calls.run.begin_weighted(1, {0x1000});
    calls.execute({calls.first});
    calls.make_call(0);
    calls.execute({calls.leave});
    const auto seen = calls.end();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].call == "getpid");
    CHECK(seen[0].count > seen[1].count);
}

}  // namespace
}  // namespace shadowprof::system_calls_test
