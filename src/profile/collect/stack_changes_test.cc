// Frames that are left at once, and stacks that threads go on to.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "profile/collect/test_traces.h"

namespace shadowprof::stack_changes_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

const Stack* stack_of(const Profile& profile, std::vector<std::uint64_t> addresses) {
    std::vector<CodeLocation> frames;
    for (const std::uint64_t address : addresses) frames.push_back(at(address));
    const auto found = std::ranges::find(profile.stacks, frames, &Stack::frames);
    return found == profile.stacks.end() ? nullptr : &*found;
}

// A caller that calls one function, which calls another one, which leaves both by a jump.
struct Jumps {
    explicit Jumps(CollectorOptions options = {}) : run(options) { run.begin({0x1000, 0x9005}); }

    void call_and_jump(const std::vector<ProbeRecord>& notes) {
        run.add(program, {outer, middle});
        for (const ProbeRecord& note : notes) run.collector.add_probed(note);
        run.add(program, {inner, landing});
    }

    TestRun run;
    TestProgram program;
    BlockId outer = program.add(0x1000, Terminator::call, 0x2000);
    BlockId middle = program.add(0x2000, Terminator::call, 0x3000);
    BlockId inner = program.add(0x3000, Terminator::indirect_jump);
    BlockId landing = program.add(0x1080, Terminator::jump, 0x1000, 7);
};

ProbeRecord change(std::uint64_t from, std::uint64_t to, bool may_leave_frames = true) {
    return {.pc = {0x3000},
            .value = from,
            .key = to,
            .probe = stack_change_note,
            .missed = may_leave_frames ? stack_may_leave_frames : 0};
}
ProbeRecord word(std::uint64_t value, std::uint64_t address, std::uint32_t times = 1) {
    return {
        .pc = {0x3000}, .value = value, .key = address, .probe = stack_words_note, .missed = times};
}

TEST_CASE("frames whose return addresses lie on the part of the stack that was left are gone") {
    CollectorOptions options;
    options.call_costs = true;
    Jumps jumps(options);
    for (int i = 0; i < 10; ++i)
        jumps.call_and_jump({change(0x7000, 0x7100), word(0x2010, 0x7010), word(0x5555, 0x7018),
                             word(0x1010, 0x70f8)});
    jumps.run.collector.end();
    const Profile p = jumps.run.result();
    CHECK(p.stacks.size() == 3);
    const Stack* caught = stack_of(p, {0x9004, 0x1000});
    REQUIRE(caught);
    CHECK(caught->instructions == 10 * (3 + 7));
    for (const CallCost& cost : p.call_costs)
        if (cost.callee == at(0x2000)) CHECK(cost.instructions == 10 * 6);
}

TEST_CASE("of equal calls as many are gone as return addresses were left") {
    TestRun run;
    TestProgram program;
    const auto recurse = program.add(0x1000, Terminator::call, 0x1000);
    const auto jump = program.add(0x3000, Terminator::indirect_jump);
    const auto landing = program.add(0x1080, Terminator::none, 0, 7);
    const auto into = program.add(0x1020, Terminator::call, 0x3000);
    run.begin({0x1000});
    run.add(program, {recurse, recurse, recurse, recurse, into});
    run.collector.add_probed(change(0x7000, 0x7100));
    run.collector.add_probed(word(0x1030, 0x7000));
    run.collector.add_probed(word(0x1010, 0x7010, 2));
    run.add(program, {jump, landing});
    run.collector.end();
    const Profile p = run.result();
    const Stack* left = stack_of(p, {0x100f, 0x100f, 0x1000});
    REQUIRE(left);
    CHECK(left->instructions == 3 + 7);
}

TEST_CASE("a stack that is gone on to begins without calls, and one that was left goes on") {
    CollectorOptions options;
    options.call_costs = true;
    Jumps jumps(options);
    TestRun& run = jumps.run;
    TestProgram& program = jumps.program;
    const auto other = program.add(0x4000, Terminator::call, 0x3000, 5);
    const auto returned = program.add(0x2010, Terminator::none, 0, 11);
    const auto ret = program.add(0x3000, Terminator::ret);
    run.add(program, {jumps.outer, jumps.middle});
    run.collector.add_probed(change(0x7000, 0x100, false));
    run.add(program, {jumps.inner, other});
    run.collector.add_probed(change(0x80, 0x7000, false));
    run.add(program, {ret, returned});
    run.collector.end();
    const Profile p = run.result();
    REQUIRE(stack_of(p, {0x4000}));  // where the other stack begins
    REQUIRE(stack_of(p, {0x400f, 0x3000}));
    const Stack* went_on = stack_of(p, {0x9004, 0x100f, 0x2000});
    REQUIRE(went_on);
    CHECK(went_on->instructions == 3 + 11);
    // What was executed on the other stack is not of this call.
    for (const CallCost& cost : p.call_costs)
        if (cost.callee == at(0x2000)) CHECK(cost.instructions == 3 + 3 + 11);
}

TEST_CASE("a stack that begins just above another one is not taken for that") {
    Jumps jumps;
    TestRun& run = jumps.run;
    run.add(jumps.program, {jumps.outer, jumps.middle});
    run.collector.add_probed(change(0x7000, 0x100'0000, false));
    const auto first = jumps.program.add(0x8000, Terminator::call, 0x3000);
    const auto second = jumps.program.add(0x9000, Terminator::none, 0, 13);
    run.add(jumps.program, {jumps.inner, first});
    // All calls of the second stack lie between.
    run.collector.add_probed(change(0x200'0000, 0x7800, false));
    run.collector.add_probed(word(0x2010, 0x7000));
    run.collector.add_probed(word(0x1010, 0x7100));
    run.collector.add_probed(word(0x9005, 0x7200));
    run.add(jumps.program, {jumps.inner, second});
    run.collector.end();
    const Profile p = run.result();
    const Stack* begun = stack_of(p, {0x9000});
    REQUIRE(begun);
    CHECK(begun->instructions == 13);
}

TEST_CASE("a stack that is copied elsewhere keeps its calls") {
    CollectorOptions options;
    options.call_costs = true;
    for (const std::uint64_t top : {0x1010u, 0x1011u}) {
        CAPTURE(top);
        Jumps jumps(options);
        TestRun& run = jumps.run;
        const auto copies = jumps.program.add(0x4000, Terminator::call, 0x3000, 5);
        const auto again = jumps.program.add(0x2000, Terminator::none, 0, 11);
        run.add(jumps.program, {jumps.outer, jumps.middle});
        run.collector.add_probed(change(0x7000, 0x100'0000, false));
        run.add(jumps.program, {jumps.inner, copies});
        run.collector.add_probed(change(0x100'0000, 0x200'0000, false));
        run.collector.add_probed(word(top, 0x200'0000));
        run.add(jumps.program, {jumps.inner, again});
        run.collector.end();
        const Profile p = run.result();
        const bool is_moved = top == 0x1010;
        const Stack* moved = stack_of(p, {0x9004, 0x100f, 0x2000});
        REQUIRE(moved);
        CHECK(moved->instructions == (is_moved ? 3 + 11 : 3));
        CHECK((stack_of(p, {0x2000}) == nullptr) == is_moved);
        for (const CallCost& cost : p.call_costs)
            if (cost.callee == at(0x2000)) CHECK(cost.instructions == (is_moved ? 3 + 3 + 11 : 6));
    }
}

TEST_CASE("a handler is called by what its signal interrupts, and returns there") {
    Jumps jumps;
    TestRun& run = jumps.run;
    const auto handler = jumps.program.add(0x5000, Terminator::syscall, 0, 5);
    const auto goes_on = jumps.program.add(0x2008, Terminator::none, 0, 11);
    run.add(jumps.program, {jumps.outer, jumps.program.add(0x2000, Terminator::none)});
    run.collector.add_probed(
        {.pc = {0x2008}, .value = 0x7000, .key = 0x100, .probe = stack_set_note});
    run.add(jumps.program, {handler});
    run.collector.add_probed(
        {.pc = {0x5008}, .value = 0x100, .key = 0x7000, .probe = stack_set_note, .missed = 1});
    run.add(jumps.program, {goes_on});
    run.collector.end();
    const Profile p = run.result();
    const Stack* handled = stack_of(p, {0x9004, 0x100f, 0x2008, 0x5000});
    REQUIRE(handled);
    CHECK(handled->instructions == 5);
    const Stack* interrupted = stack_of(p, {0x9004, 0x100f, 0x2000});
    REQUIRE(interrupted);
    CHECK(interrupted->instructions == 3 + 11);
}

TEST_CASE("a change that does not come at its block is forgotten") {
    Jumps jumps;
    TestRun& run = jumps.run;
    run.add(jumps.program, {jumps.outer, jumps.middle});
    run.collector.add_probed(change(0x7000, 0x100, false));
    run.add(jumps.program, {jumps.program.add(0x2040, Terminator::none)});
    run.collector.end();
    CHECK(stack_of(run.result(), {0x9004, 0x100f, 0x2000}));
    CHECK_FALSE(stack_of(run.result(), {0x2000}));
}

TEST_CASE("hostile notes end no sample") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x3000, Terminator::ret);
    run.begin({0x3000});
    for (std::uint64_t i = 0; i < 2000; ++i) {
        run.collector.add_probed(change(i * 0x9e37'79b9'7f4a'7c15, ~i, i % 2 != 0));
        run.collector.add_probed(word(~i, i, ~std::uint32_t{0}));
        run.collector.add_probed({.value = i,
                                  .key = ~i,
                                  .probe = stack_set_note,
                                  .missed = static_cast<std::uint32_t>(i % 3)});
        run.add(program, {block});
    }
    run.collector.end();
    CHECK(run.result().sampling.counters.at("samples_collected") == 1);
}

}  // namespace
}  // namespace shadowprof::stack_changes_test
