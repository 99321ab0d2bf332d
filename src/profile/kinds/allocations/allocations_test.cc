// Calls of allocators, from a trace into a profile.
#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"
#include "profile/merge/phase.h"

namespace shadowprof::allocations_test {
namespace {

using namespace testing;

// Two functions that call `grab` at 0x2000, the second one through a linkage table. `make` at
// 0x3000 calls `grab`, `make_more` at 0x3100 jumps to it.
struct Program {
    TestProgram program;
    BlockId first = program.add(0x1000, Terminator::call, 0x2000);
    BlockId behind = program.add(0x1010, Terminator::jump, 0x1100);
    BlockId second = program.add(0x1100, Terminator::call, 0x5000);
    BlockId third = program.add(0x1200, Terminator::call, 0x3000);
    BlockId behind_third = program.add(0x1210, Terminator::jump, 0x1300);
    BlockId fourth = program.add(0x1300, Terminator::call, 0x3100);
    BlockId behind_fourth = program.add(0x1310, Terminator::jump, 0x1000);
    BlockId stub = program.add(0x5000, Terminator::indirect_jump);
    BlockId grab = program.add(0x2000, Terminator::ret);
    BlockId make_elsewhere = program.add(0x2000, Terminator::jump, 0x5000);
    BlockId grab_elsewhere = program.add(0x6000, Terminator::ret);
    BlockId make = program.add(0x3000, Terminator::call, 0x2000);
    BlockId made = program.add(0x3010, Terminator::ret);
    BlockId make_more = program.add(0x3100, Terminator::jump, 0x2000);
    TestRun run{{.allocations = true}};

    void execute(std::initializer_list<BlockId> blocks) {
        for (const BlockId id : blocks) run.add(program, {id});
    }
    void note(std::uint64_t pc, std::uint64_t bytes, std::uint32_t thread = 0) {
        run.collector.add_probed({.pc = {pc},
                                  .value = bytes,
                                  .key = 0,
                                  .probe = allocation_note,
                                  .missed = 0,
                                  .thread = thread,
                                  .place = 0});
    }
    // Executes what calls an allocator, and the allocator's first block.
    void call(std::initializer_list<BlockId> blocks, BlockId entry, std::uint64_t pc,
              std::uint64_t bytes) {
        execute(blocks);
        note(pc, bytes);
        execute({entry});
    }
    Profile end() {
        run.collector.end();
        return run.result();
    }
};

std::vector<std::uint64_t> callers(const Allocation& allocation) {
    std::vector<std::uint64_t> addresses;
    for (const CodeLocation at : allocation.callers) addresses.push_back(at.address);
    return addresses;
}

TEST_CASE("allocations are counted by function and callers, the largest first") {
    Program test;
    test.run.begin();
    test.call({test.first}, test.grab, 0x2000, 100);
    test.call({test.behind, test.second, test.stub}, test.grab, 0x2000, 3000);
    const auto profile = test.end();
    const auto& seen = profile.allocations;
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].bytes == 3000);
    CHECK(callers(seen[0]) == std::vector<std::uint64_t>{0x110f});
    CHECK(seen[1].bytes == 100);
    CHECK(callers(seen[1]) == std::vector<std::uint64_t>{0x100f});
    for (const Allocation& allocation : seen) {
        CHECK(allocation.function.address == 0x2000);
        CHECK(allocation.calls == 1);
    }
    CHECK(profile.sampling.counters.at("allocations") == 2);
    CHECK(profile.sampling.counters.at("allocated_bytes") == 3100);
}

TEST_CASE("what an allocator asks another one for does not count") {
    Program test;
    test.run.begin();
    test.call({test.third}, test.make, 0x3000, 50);
    test.call({}, test.grab, 0x2000, 64);
    test.execute({test.made});
    test.call({test.behind_third, test.fourth}, test.make_more, 0x3100, 60);
    test.call({}, test.grab, 0x2000, 80);
    test.call({test.behind_fourth, test.first}, test.grab, 0x2000, 7);
    const auto seen = test.end().allocations;
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].function.address == 0x3100);
    CHECK(seen[0].bytes == 60);
    CHECK(seen[1].function.address == 0x3000);
    CHECK(seen[1].bytes == 50);
    CHECK(seen[2].function.address == 0x2000);
    CHECK(seen[2].bytes == 7);
}

TEST_CASE("an allocator may jump to another one through a linkage table, again and again") {
    Program test;
    test.run.begin();
    for (int i = 0; i < 3; ++i) {
        test.call({test.first}, test.make_elsewhere, 0x2000, 10);
        test.call({test.stub}, test.grab_elsewhere, 0x6000, 10);
        test.execute({test.behind});
    }
    // The same caller then calls the second one itself.
    test.call({test.first}, test.grab_elsewhere, 0x6000, 4);
    const auto seen = test.end().allocations;
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].function.address == 0x2000);
    CHECK(seen[0].calls == 3);
    CHECK(seen[1].function.address == 0x6000);
    CHECK(seen[1].calls == 1);
}

TEST_CASE("a call that is announced again is one call, and one that does not begin is none") {
    Program test;
    test.run.begin();
    test.execute({test.first});
    test.note(0x2000, 5);
    test.note(0x2000, 5);
    test.execute({test.grab, test.behind, test.second});
    test.note(0x2000, 9);  // goes on elsewhere
    test.execute({test.stub});
    test.call({}, test.grab, 0x2000, 6);
    test.execute({test.behind});
    test.note(0x2000, 11);  // the last of the trace
    const auto profile = test.end();
    CHECK(profile.sampling.counters.at("allocations") == 2);
    CHECK(profile.sampling.counters.at("allocated_bytes") == 11);
}

TEST_CASE("allocations weigh as their samples do, and nothing counts that was not asked for") {
    Program test;
    test.run.begin_weighted(3, {0x1000});
    test.call({test.first}, test.grab, 0x2000, 10);
    test.run.collector.end();
    test.run.begin_weighted(1, {0x1000});
    test.call({test.first}, test.grab, 0x2000, 10);
    test.run.collector.set_counting(0, false);
    test.call({test.behind, test.second, test.stub}, test.grab, 0x2000, 10);
    const auto seen = test.end().allocations;
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].bytes == 10 * seen[0].calls);
    TestRun deaf;
    deaf.begin();
    deaf.add(test.program, {test.first});
    deaf.collector.add_probed({.pc = {0x2000}, .value = 1, .probe = allocation_note});
    deaf.add(test.program, {test.grab});
    deaf.collector.end();
    CHECK(deaf.result().allocations.empty());
    CHECK_FALSE(deaf.result().sampling.counters.contains("allocations"));
}

TEST_CASE("each thread's allocations have its own callers") {
    Program test;
    test.run.begin();
    test.execute({test.first});
    test.run.collector.begin_thread(1, {});
    test.run.collector.add(1, batch({test.second, test.stub}), test.program.table());
    test.note(0x2000, 20, 1);
    test.note(0x2000, 10, 0);
    test.run.collector.add(0, batch({test.grab}), test.program.table());
    test.run.collector.add(1, batch({test.grab}), test.program.table());
    const auto seen = test.end().allocations;
    REQUIRE(seen.size() == 2);
    CHECK(callers(seen[0]) == std::vector<std::uint64_t>{0x110f});
    CHECK(callers(seen[1]) == std::vector<std::uint64_t>{0x100f});
}

TEST_CASE("a phase has what was allocated since") {
    Profile earlier, later;
    earlier.allocations = {{{0, 1}, {}, 5, 500}, {{0, 2}, {}, 4, 40}};
    later.allocations = {{{0, 1}, {}, 7, 520}, {{0, 2}, {}, 4, 40}, {{0, 3}, {}, 1, 8}};
    const auto phase = phase_between(later, earlier).allocations;
    REQUIRE(phase.size() == 2);
    CHECK(phase[0] == Allocation{{0, 1}, {}, 2, 20});
    CHECK(phase[1] == Allocation{{0, 3}, {}, 1, 8});
}

TEST_CASE("callers beyond the room are left out, and a note says so") {
    AllocationTotals totals;
    constexpr auto max_entries = BoundedTotals<int, AllocationTotals::Entry>::max_entries;
    for (std::uint64_t i = 0; i < max_entries; ++i) REQUIRE(totals.entry_of({0, i}, {}));
    CHECK(totals.entry_of({1, 0}, {}) == nullptr);
    totals.leave_out(5);
    Profile profile;
    totals.fill(profile, {});
    REQUIRE(profile.notes.size() == 1);
    CHECK(profile.notes[0].starts_with("5 allocations are left out"));
    CHECK(profile.sampling.counters.at("allocations_left_out") == 5);
    CHECK(profile.sampling.counters.at("allocations") == 5);
}

}  // namespace
}  // namespace shadowprof::allocations_test
