// Branches, from a trace into a profile.
#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"
#include "profile/merge/merge.h"
#include "profile/merge/phase.h"

namespace shadowprof::branches_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

// A loop at 0x1000 whose body calls a function at 0x2000 and jumps back.
struct Loop {
    TestProgram program;
    BlockId head = program.add(0x1000, Terminator::conditional, 0x3000);
    BlockId body = program.add(0x1010, Terminator::call, 0x2000);
    BlockId back = program.add(0x1020, Terminator::jump, 0x1000);
    BlockId function = program.add(0x2000, Terminator::ret);
    BlockId behind = program.add(0x3000, Terminator::indirect_jump);
    BlockId table = program.add(0x4000, Terminator::none);
    TestRun run{{.branches = true}};

    Words iterations(std::size_t n) const {
        Words words;
        for (std::size_t i = 0; i < n; ++i)
            for (const BlockId id : {head, body, function, back}) words.push_back(id);
        for (const BlockId id : {head, behind, table}) words.push_back(id);
        return words;
    }
};

PredictedBranch branch_at(const Profile& profile, std::uint64_t address) {
    for (const PredictedBranch& branch : profile.branches)
        if (branch.at.address == address) return branch;
    FAIL("no branch at ", address);
    return {};
}

TEST_CASE("branches are counted by their instructions") {
    Loop loop;
    loop.run.sample(loop.program, loop.iterations(1000));
    const Profile profile = loop.run.result();
    REQUIRE(profile.branches.size() == 3);
    const auto head = branch_at(profile, 0x100c);
    CHECK(head.kind == BranchKind::conditional);
    CHECK(head.executions == 1001);
    CHECK(head.taken == 1);
    CHECK(head.mispredictions <= 2);
    CHECK(branch_at(profile, 0x200c) ==
          PredictedBranch{at(0x200c), BranchKind::ret, 1000, 1000, 0});
    CHECK(branch_at(profile, 0x300c) ==
          PredictedBranch{at(0x300c), BranchKind::indirect_jump, 1, 1, 1});
    const auto& counters = profile.sampling.counters;
    CHECK(counters.at("branches") == 1001 + 1000 + 1000 + 1000 + 1);
    CHECK(counters.at("branches_conditional") == 1001);
    CHECK(counters.at("branches_indirect") == 1001);
    CHECK(counters.at("branches_taken") == 1 + 3000 + 1);
    CHECK(counters.at("branch_mispredictions") == head.mispredictions + 1);
    CHECK(profile.branch_model == BranchPredictor::model());
}

TEST_CASE("superblocks, batches and other levels of trace change nothing") {
    Loop loop;
    const BlockId all = loop.program.sequence(
        {loop.head, loop.body, loop.function, loop.back, loop.head, loop.body});
    loop.run.begin();
    loop.run.add(loop.program, {all, loop.function});
    loop.run.add(loop.program, {loop.back, loop.head});
    loop.run.add(loop.program, {loop.behind, loop.table});
    loop.run.collector.end();
    Loop plain;
    plain.run.sample(plain.program, plain.iterations(2));
    CHECK(loop.run.result().branches == plain.run.result().branches);
}

TEST_CASE("returns to the callers that a sample begins with are predicted") {
    Loop loop;
    loop.run.sample(loop.program, {loop.function, loop.back}, {0x2000, 0x1020});
    CHECK(branch_at(loop.run.result(), 0x200c).mispredictions == 0);
    Loop unknown;
    unknown.run.sample(unknown.program, {unknown.function, unknown.back});
    CHECK(branch_at(unknown.run.result(), 0x200c).mispredictions == 1);
}

TEST_CASE("a call of the next instruction pushes no return address") {
    Loop loop;
    const BlockId self = loop.program.add(0x5000, Terminator::call, 0x5010);
    const BlockId next = loop.program.add(0x5010, Terminator::ret);
    loop.run.sample(loop.program, {loop.body, self, next, loop.back}, {});
    // The return goes behind the first call.
    CHECK(branch_at(loop.run.result(), 0x501c).mispredictions == 0);
}

TEST_CASE("what a sample skips is learned and not counted") {
    Loop loop;
    loop.run.begin({0x1000}, 3 * 4 * 500);
    loop.run.add(loop.program, loop.iterations(1000));
    loop.run.collector.end();
    const Profile profile = loop.run.result();
    const auto head = branch_at(profile, 0x100c);
    CHECK(head.executions >= 499);
    CHECK(head.executions <= 501);
    // Only the exit.
    CHECK(head.mispredictions == 1);
}

TEST_CASE("threads have their own branches and returns, weights count") {
    Loop loop;
    loop.run.begin_weighted(3, {});
    loop.run.add(loop.program, {loop.head, loop.body});
    loop.run.collector.add(1, batch({loop.head, loop.body, loop.function, loop.back}),
                           loop.program.table());
    loop.run.add(loop.program, {loop.function, loop.back});
    loop.run.collector.end();
    Words often;
    for (int i = 0; i < 10; ++i) often.insert(often.end(), {loop.behind, loop.table});
    loop.run.sample(loop.program, often);
    const Profile profile = loop.run.result();
    CHECK(branch_at(profile, 0x200c).mispredictions == 0);
    // Twice with a weight of 3, and ten times with 1, scaled by 84/132.
    CHECK(branch_at(profile, 0x200c).executions == 4);
    CHECK(branch_at(profile, 0x300c).executions == 6);
}

TEST_CASE("without being asked for there are none") {
    Loop loop;
    TestRun run;
    run.sample(loop.program, loop.iterations(3));
    CHECK(run.result().branches.empty());
    CHECK_FALSE(run.result().branch_model);
    CHECK_FALSE(run.result().sampling.counters.contains("branches"));
}

TEST_CASE("merged profiles add up; those of different models say so") {
    Profile one;
    one.modules = {{"/bin/a", "aa", 1}};
    one.branches = {{at(0x100c), BranchKind::conditional, 100, 50, 10}};
    one.branch_model = BranchPredictor::model();
    Profile sum = one;
    merge_into(sum, one);
    CHECK(sum.branches[0] == PredictedBranch{at(0x100c), BranchKind::conditional, 200, 100, 20});
    CHECK(sum.branch_model == one.branch_model);
    CHECK(sum.notes.empty());
    Profile other = one;
    other.branch_model->return_stack_entries = 16;
    merge_into(sum, other);
    CHECK(sum.branches[0].executions == 300);
    CHECK_FALSE(sum.branch_model);
    REQUIRE(sum.notes.size() == 1);
    CHECK(sum.notes[0] == BranchList::unequal_hosts);
}

TEST_CASE("a phase has the branches that came since its begin, also those predicted right") {
    PredictedBranch later{at(0x10), BranchKind::ret, 10, 10, 3};
    subtract(later, {at(0x10), BranchKind::ret, 4, 4, 3});
    CHECK(later == PredictedBranch{at(0x10), BranchKind::ret, 6, 6, 0});
    CHECK_FALSE(is_empty(later));
}

}  // namespace
}  // namespace shadowprof::branches_test
