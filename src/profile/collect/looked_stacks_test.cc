// The times of stacks in profiles come from looks at threads, whatever samples executed.
#include <doctest/doctest.h>

#include "profile/collect/test_programs.h"

namespace shadowprof::looked_stacks_test {
namespace {

using namespace testing;

constexpr CodeLocation at(std::uint64_t address) {
    return {0, address};
}

// Functions of 4096 bytes.
class EvenFunctions final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable&) override {
        return FoundFunction{{at.module, at.address & ~std::uint64_t{0xfff}}};
    }
};

// A sample of thirty instructions in the function at 0x1000, and what was looked at.
Profile profile_of(std::vector<LookedStack> looked, bool keeps_callers = true) {
    EvenFunctions functions;
    TestRun run({.limits = {.keeps_callers = keeps_callers}, .functions = &functions});
    TestProgram blocks;
    const BlockId block = blocks.add(0x1000, Terminator::indirect_jump);
    run.collector.begin({.resolver = run.resolver, .time_ns = 4000});
    run.add(blocks, Words(10, block));
    run.collector.end();
    Profile profile;
    profile.looked_stacks = std::move(looked);
    run.profile.fill(profile);
    CHECK(profile.looked_stacks.empty());
    return profile;
}

const Stack* find(const Profile& profile, const std::vector<CodeLocation>& frames) {
    const auto found = std::ranges::find(profile.stacks, frames, &Stack::frames);
    return found == profile.stacks.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a sample has no time of its own") {
    const Profile profile = profile_of({});
    REQUIRE(profile.stacks.size() == 1);
    CHECK(profile.stacks[0].instructions == 30);
    CHECK(profile.stacks[0].time_ns == 0);
}

TEST_CASE("places of one function are one stack, with what was executed there") {
    const Profile profile =
        profile_of({{{at(0x1008)}, 1, 100}, {{at(0x1ffc)}, 2, 200}, {{at(0x2000)}, 1, 50}});
    REQUIRE(profile.stacks.size() == 2);
    const Stack* sampled = find(profile, {at(0x1000)});
    REQUIRE(sampled);
    CHECK(sampled->time_ns == 300);
    CHECK(sampled->instructions == 30);
    const Stack* other = find(profile, {at(0x2000)});
    REQUIRE(other);
    CHECK(other->time_ns == 50);
    CHECK(other->instructions == 0);
}

TEST_CASE("call sites stay as they are, and only the last frame becomes a function") {
    const Profile profile = profile_of({{{at(0x3004), at(0x1008)}, 1, 100}});
    const Stack* called = find(profile, {at(0x3004), at(0x1000)});
    REQUIRE(called);
    CHECK(called->time_ns == 100);
}

TEST_CASE("without callers stacks are functions") {
    const Profile profile =
        profile_of({{{at(0x3004), at(0x1008)}, 1, 100}, {{at(0x4004), at(0x1008)}, 1, 20}}, false);
    REQUIRE(profile.stacks.size() == 1);
    CHECK(profile.stacks[0].frames == std::vector{at(0x1000)});
    CHECK(profile.stacks[0].time_ns == 120);
}

}  // namespace shadowprof::looked_stacks_test
