// System calls, on their way from a trace into a profile.
#include <doctest/doctest.h>

#include "profile/test_traces.h"

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
    TestRun run;

    void execute(std::initializer_list<BlockId> blocks) {
        for (const BlockId id : blocks) run.add(program, {id});
    }
    void make_call(std::uint64_t number) {
        execute({call});
        run.collector.add_probed({.pc = {0x200e}, .value = number, .probe = system_call_note});
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
        REQUIRE_FALSE(call.callers.empty());
    }
    CHECK(callers(seen[0])[0] != callers(seen[1])[0]);
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
