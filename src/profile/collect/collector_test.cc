// Traces whose profile is known. Each test checks one rule of the spec or of a header.
#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"

namespace shadowprof::collector_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

std::uint64_t edge_count(const Profile& p, std::uint64_t from, std::uint64_t to, EdgeKind kind) {
    for (const Edge& e : p.edges)
        if (e.from == at(from) && e.to == at(to) && e.kind == kind) return e.count;
    return 0;
}

std::uint64_t path_count(const Profile& p, const Words& starts) {
    std::vector<CodeLocation> blocks;
    for (std::uint64_t start : starts) blocks.push_back(at(start));
    for (const Path& path : p.paths)
        if (path.blocks == blocks) return path.count;
    return 0;
}

const Stack* find_stack(const Profile& p, const Words& frames) {
    std::vector<CodeLocation> wanted;
    for (std::uint64_t frame : frames) wanted.push_back(at(frame));
    for (const Stack& stack : p.stacks)
        if (stack.frames == wanted) return &stack;
    return nullptr;
}

// Functions of 256 bytes.
class Functions final : public FunctionFinder {
  public:
    struct Row {
        std::uint64_t start = 0;
        bool is_stub = false;
    };
    Functions(std::initializer_list<Row> rows) : rows_(rows) {}

    std::optional<FoundFunction> find(CodeLocation location, const ModuleTable&) override {
        for (const Row& row : rows_)
            if (location.address >= row.start && location.address < row.start + 256)
                return FoundFunction{at(row.start), row.is_stub};
        return std::nullopt;
    }

  private:
    std::vector<Row> rows_;
};

void check_invariants(TestRun& run) {
    auto checked = run.profile.check();
    CHECK_MESSAGE(checked.has_value(), (checked ? "" : checked.error().message));
}

TEST_CASE("each terminator makes its kind of edge") {
    struct Row {
        Terminator terminator;
        std::uint64_t next;
        EdgeKind kind;
    };
    const Row rows[] = {
        {Terminator::conditional, 0x2000, EdgeKind::taken},
        {Terminator::conditional, 0x1010, EdgeKind::fall_through},
        {Terminator::jump, 0x2000, EdgeKind::jump},
        {Terminator::indirect_jump, 0x2000, EdgeKind::indirect},
        {Terminator::call, 0x2000, EdgeKind::call},
        {Terminator::indirect_call, 0x2000, EdgeKind::call},
        {Terminator::ret, 0x2000, EdgeKind::ret},
    };
    for (const Row& row : rows) {
        TestRun run;
        TestProgram program;
        const auto a = program.add(0x1000, row.terminator, 0x2000);
        const auto b = program.add(row.next, Terminator::none);
        run.sample(program, {a, b});
        const Profile p = run.result();
        REQUIRE(p.edges.size() == 1);
        CHECK(p.edges[0].from == at(0x100c));
        CHECK(p.edges[0].to == at(row.next));
        CHECK(p.edges[0].kind == row.kind);
        CHECK(p.edges[0].count == 1);
        CHECK(p.sampling.counters.at("impossible_steps") == 0);
        check_invariants(run);
    }
}

TEST_CASE("blocks that end without a branch make no edge") {
    for (auto terminator : {Terminator::none, Terminator::syscall, Terminator::single_stepped}) {
        TestRun run;
        TestProgram program;
        const auto a = program.add(0x1000, terminator);
        const auto b = program.add(0x1010, Terminator::none);
        run.sample(program, {a, b, a, b});
        const Profile p = run.result();
        CHECK(p.edges.empty());
        CHECK(path_count(p, {0x1000, 0x1010, 0x1000, 0x1010}) == 1);
        check_invariants(run);
    }
}

TEST_CASE("a taken backward branch ends a path, whatever kind of jump it is") {
    for (auto terminator : {Terminator::conditional, Terminator::jump, Terminator::indirect_jump}) {
        TestRun run;
        TestProgram program;
        const auto head = program.add(0x1000, Terminator::none);
        const auto tail = program.add(0x1010, terminator, 0x1000);
        run.sample(program, {head, tail, head, tail, head, tail});
        const Profile p = run.result();
        CHECK(path_count(p, {0x1000, 0x1010}) == 3);
        CHECK(p.paths.size() == 1);
        CHECK(p.paths[0].instructions == 6);
        check_invariants(run);
    }
}

TEST_CASE("a branch to itself is backward, one to the next byte is not") {
    TestRun run;
    TestProgram program;
    const auto self = program.add(0x1000, Terminator::conditional, 0x1000);
    const auto onto_branch = program.add(0x100c, Terminator::conditional, 0x100c);
    const auto next = program.add(0x1010, Terminator::none);
    run.sample(program, {self, self, onto_branch, self, next});
    const Profile p = run.result();
    CHECK(path_count(p, {0x1000}) == 2);
    CHECK(path_count(p, {0x100c}) == 1);
    CHECK(path_count(p, {0x1000, 0x1010}) == 1);
    CHECK(edge_count(p, 0x100c, 0x1000, EdgeKind::taken) == 1);
    CHECK(edge_count(p, 0x100c, 0x1010, EdgeKind::fall_through) == 1);
}

TEST_CASE("paths run across calls and returns, also to lower addresses") {
    TestRun run;
    TestProgram program;
    const auto main = program.add(0x2000, Terminator::call, 0x1000);
    const auto callee = program.add(0x1000, Terminator::ret);
    const auto after = program.add(0x2010, Terminator::conditional, 0x2000);
    run.sample(program, {main, callee, after, main, callee, after});
    const Profile p = run.result();
    CHECK(path_count(p, {0x2000, 0x1000, 0x2010}) == 2);
    CHECK(edge_count(p, 0x200c, 0x1000, EdgeKind::call) == 2);
    CHECK(edge_count(p, 0x100c, 0x2010, EdgeKind::ret) == 2);
    CHECK(edge_count(p, 0x201c, 0x2000, EdgeKind::taken) == 1);
    REQUIRE(p.calls.size() == 1);
    CHECK(p.calls[0].site == at(0x200c));
    CHECK(p.calls[0].callee == at(0x1000));
    CHECK(p.calls[0].count == 2);
    check_invariants(run);
}

TEST_CASE("a path ends after 128 blocks and the next goes on where it ended") {
    TestRun run;
    TestProgram program;
    Words words;
    for (std::uint64_t i = 0; i < 300; ++i)
        words.push_back(program.add(0x1000 + 16 * i, Terminator::none));
    run.sample(program, words);
    const Profile p = run.result();
    REQUIRE(p.paths.size() == 3);
    std::vector<std::size_t> lengths;
    for (const Path& path : p.paths) lengths.push_back(path.blocks.size());
    CHECK(lengths == std::vector<std::size_t>{128, 128, 44});
    CHECK(p.paths[1].blocks[0] == at(0x1000 + 16 * 128));
    check_invariants(run);
}

TEST_CASE("a path cut by the limit is not extended by a loop of the same blocks") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x1010);
    const auto b = program.add(0x1010, Terminator::ret);
    Words words;
    for (int i = 0; i < 1000; ++i) words.insert(words.end(), {a, b});
    run.sample(program, words);
    const Profile p = run.result();
    REQUIRE(p.paths.size() == 2);
    CHECK(p.paths[0].blocks.size() == 128);
    CHECK(p.paths[0].count == 15);
    CHECK(p.paths[1].blocks.size() == 80);
    check_invariants(run);
}

TEST_CASE("a sample without blocks changes nothing") {
    TestRun run;
    TestProgram program;
    CHECK(run.sample(program, {}).instructions == 0);
    const Profile p = run.result();
    CHECK(p.edges.empty());
    CHECK(p.paths.empty());
    CHECK(p.stacks.empty());
    CHECK(p.sampling.counters.at("samples_collected") == 1);
    check_invariants(run);
}

TEST_CASE("the path and the stack of one sample do not leak into the next") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x2000);
    const auto b = program.add(0x2000, Terminator::jump, 0x1000);
    run.sample(program, {a}, {0x1000, 0x9001});
    run.sample(program, {b}, {0x2000, 0x9101});
    const Profile p = run.result();
    CHECK(p.edges.empty());
    CHECK(p.stacks.size() == 2);
    CHECK(find_stack(p, {0x9000, 0x1000}));
    CHECK(find_stack(p, {0x9100, 0x2000}));
    CHECK(path_count(p, {0x1000}) == 1);
    CHECK(path_count(p, {0x2000}) == 1);
    check_invariants(run);
}

TEST_CASE("stacks are call sites outermost first, then the function that executes") {
    TestRun run;
    TestProgram program;
    const auto start = program.add(0x1000, Terminator::call, 0x2000);  // in the innermost frame
    const auto callee = program.add(0x2000, Terminator::ret, 0, 5);
    const auto back = program.add(0x1010, Terminator::ret, 0, 7);
    const auto caller = program.add(0x3005, Terminator::none, 0, 11);
    run.sample(program, {start, callee, back, caller}, {0x1000, 0x3005, 0x4005});
    const Profile p = run.result();
    REQUIRE(p.stacks.size() == 3);
    const Stack* innermost = find_stack(p, {0x4004, 0x3004, 0x1000});
    REQUIRE(innermost);
    CHECK(innermost->instructions == 3 + 7);
    CHECK(innermost->samples == 1);
    const Stack* called = find_stack(p, {0x4004, 0x3004, 0x100f, 0x2000});
    REQUIRE(called);
    CHECK(called->instructions == 5);
    CHECK(called->samples == 0);
    const Stack* outer = find_stack(p, {0x4004, 0x3004});
    REQUIRE(outer);
    CHECK(outer->instructions == 11);
    CHECK(p.sampling.counters.at("mismatched_returns") == 0);
    check_invariants(run);
}

TEST_CASE("recursion keeps one frame for each call, and folds those beyond the limit") {
    CollectorOptions options;
    options.limits.stack_bytes = UINT32_MAX;
    TestRun run(options);
    TestProgram program;
    const auto enter = program.add(0x1000, Terminator::call, 0x1000, 1);
    const auto leaf = program.add(0x1020, Terminator::ret, 0, 1);
    const auto after = program.add(0x1010, Terminator::ret, 0, 1);
    const auto end = program.add(0x5000, Terminator::none, 0, 1);
    const std::size_t depth = StackTree::max_depth + 1000;
    Words words(depth, enter);
    words.push_back(leaf);
    words.insert(words.end(), depth - 1, after);
    words.push_back(after);
    words.push_back(end);
    run.sample(program, words, {0x1000, 0x5000});
    const Profile p = run.result();
    std::size_t deepest = 0;
    for (const Stack& stack : p.stacks) deepest = std::max(deepest, stack.frames.size());
    CHECK(deepest == StackTree::max_depth);
    const Stack* outermost = find_stack(p, {0x4fff});
    REQUIRE(outermost);
    CHECK(outermost->instructions == 1);  // every return found its call
    CHECK(p.sampling.counters.at("mismatched_returns") == 0);
    CHECK(p.sampling.counters.at("folded_stack_instructions") > 1000);
    check_invariants(run);
}

TEST_CASE("a return past frames that were left behind finds its own") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto b = program.add(0x2000, Terminator::call, 0x3000);
    const auto thrower = program.add(0x3000, Terminator::ret);
    const auto after_a = program.add(0x1010, Terminator::none, 0, 13);
    run.sample(program, {a, b, thrower, after_a}, {0x1000});
    const Profile p = run.result();
    const Stack* root = find_stack(p, {0x1000});
    REQUIRE(root);
    CHECK(root->instructions == 3 + 13);
    CHECK(p.sampling.counters.at("mismatched_returns") == 1);
    check_invariants(run);
}

TEST_CASE("a return to nowhere is a jump, so that later returns still match") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto odd = program.add(0x2000, Terminator::ret);
    const auto landing = program.add(0x7000, Terminator::ret, 0, 7);
    const auto after = program.add(0x1010, Terminator::none, 0, 9);
    run.sample(program, {a, odd, landing, after}, {0x1000});
    const Profile p = run.result();
    CHECK(find_stack(p, {0x100f, 0x2000})->instructions == 3 + 7);
    CHECK(find_stack(p, {0x1000})->instructions == 3 + 9);
    CHECK(p.sampling.counters.at("mismatched_returns") == 1);
}

TEST_CASE("mismatches count each time, not once for each path") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto odd = program.add(0x2000, Terminator::ret);
    const auto landing = program.add(0x7000, Terminator::jump, 0x1000);
    Words words;
    for (int i = 0; i < 50; ++i) words.insert(words.end(), {a, odd, landing});
    run.sample(program, words, {0x1000});
    CHECK(run.result().sampling.counters.at("mismatched_returns") == 50);
}

TEST_CASE("a stub's jump makes its target the function that executes") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto stub = program.add(0x2000, Terminator::indirect_jump);
    const auto function = program.add(0x8000, Terminator::ret, 0, 8);
    const auto after = program.add(0x1010, Terminator::none);
    run.sample(program, {a, stub, function, after}, {0x1000});
    const Profile p = run.result();
    REQUIRE(find_stack(p, {0x100f, 0x8000}));
    CHECK(find_stack(p, {0x100f, 0x8000})->instructions == 8);
    CHECK(p.sampling.counters.at("mismatched_returns") == 0);
}

TEST_CASE("a jump into another function replaces the frame, one within a function does not") {
    Functions functions{{0x1000}, {0x2000}, {0x3000}};
    TestRun run({.functions = &functions});
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto cold = program.add(0x2000, Terminator::jump, 0x3000, 2);
    const auto hot = program.add(0x3000, Terminator::conditional, 0x3040, 5);
    const auto rest = program.add(0x3040, Terminator::ret, 0, 7);
    const auto after = program.add(0x1010, Terminator::none, 0, 11);
    run.sample(program, {a, cold, hot, rest, after}, {0x1000});
    const Profile p = run.result();
    CHECK(p.stacks.size() == 3);
    REQUIRE(find_stack(p, {0x100f, 0x2000}));
    CHECK(find_stack(p, {0x100f, 0x2000})->instructions == 2);
    REQUIRE(find_stack(p, {0x100f, 0x3000}));
    CHECK(find_stack(p, {0x100f, 0x3000})->instructions == 12);
    REQUIRE(find_stack(p, {0x1000}));
    CHECK(find_stack(p, {0x1000})->instructions == 14);
    CHECK(p.sampling.counters.at("mismatched_returns") == 0);
}

TEST_CASE("code that was jumped into the middle of counts for its function, and back again") {
    Functions functions{{0x1000}, {0x2000}};
    TestRun run({.functions = &functions});
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::conditional, 0x2020, 1);
    const auto far = program.add(0x2020, Terminator::jump, 0x1040, 2);
    const auto back = program.add(0x1040, Terminator::none, 0, 4);
    run.sample(program, {a, far, back}, {0x1008, 0x9001});
    const Profile p = run.result();
    REQUIRE(find_stack(p, {0x9000, 0x1000}));
    CHECK(find_stack(p, {0x9000, 0x1000})->instructions == 5);
    REQUIRE(find_stack(p, {0x9000, 0x2000}));
    CHECK(find_stack(p, {0x9000, 0x2000})->instructions == 2);
}

TEST_CASE("a jump from a function to code without one leaves the function") {
    Functions functions{{0x1000}};
    TestRun run({.functions = &functions});
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x500, 1);
    const auto unknown = program.add(0x500, Terminator::none, 0, 2);
    run.sample(program, {a, unknown}, {0x1000});
    const Profile p = run.result();
    REQUIRE(find_stack(p, {0x500}));
    CHECK(find_stack(p, {0x500})->instructions == 2);
}

TEST_CASE("the callee of calls through a stub is the function behind, also the one that bound it") {
    Functions functions{{0x1000}, {0x2000, true}, {0x3000}};
    TestRun run({.functions = &functions});
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto stub = program.add(0x2000, Terminator::indirect_jump);
    const auto binder = program.add(0x500, Terminator::indirect_jump);
    const auto function = program.add(0x3000, Terminator::ret);
    const auto after = program.add(0x1010, Terminator::jump, 0x1000);
    run.sample(program, {a, stub, binder, function, after, a, stub, function, after}, {0x1000});
    const Profile p = run.result();
    REQUIRE(p.calls.size() == 1);
    CHECK(p.calls[0] == CallPair{.site = at(0x100c), .callee = at(0x3000), .count = 2});
}

TEST_CASE("skipped instructions count nowhere, but their calls are on the stack") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::call, 0x2000);
    const auto b = program.add(0x2000, Terminator::none);
    const auto c = program.add(0x2010, Terminator::none, 0, 5);
    run.begin({0x1000}, 4);
    CHECK(run.add(program, {a, b}).instructions == 0);
    CHECK(run.add(program, {c}).instructions == 5);
    run.collector.end();
    const Profile p = run.result();
    REQUIRE(p.stacks.size() == 1);
    CHECK(p.stacks[0].frames == std::vector{at(0x100f), at(0x2000)});
    CHECK(p.stacks[0].instructions == 5);
    CHECK(p.stacks[0].samples == 1);
    CHECK(p.calls.empty());
    check_invariants(run);
}

TEST_CASE("a sample shorter than what it should skip counts nothing") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x1000);
    run.begin({}, 1000);
    CHECK(run.add(program, {a, a, a}).instructions == 0);
    run.collector.end();
    CHECK(run.result().paths.empty());
    check_invariants(run);
}

TEST_CASE("steps that the instructions cannot make are counted") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x2000);
    const auto b = program.add(0x3000, Terminator::none);
    run.sample(program, {a, b});
    CHECK(run.result().sampling.counters.at("impossible_steps") == 1);
}

TEST_CASE("two samples are their sum") {
    TestRun twice, once;
    TestProgram program;
    const auto head = program.add(0x1000, Terminator::conditional, 0x1020);
    const auto middle = program.add(0x1010, Terminator::none);
    const auto tail = program.add(0x1020, Terminator::conditional, 0x1000);
    const Words words = {head, middle, tail, head, tail, head};
    once.sample(program, words, {0x1000});
    twice.sample(program, words, {0x1000});
    twice.sample(program, words, {0x1000});
    const Profile one = once.result(), two = twice.result();
    REQUIRE(two.edges.size() == one.edges.size());
    for (std::size_t i = 0; i < one.edges.size(); ++i)
        CHECK(two.edges[i].count == 2 * one.edges[i].count);
    for (const Path& path : one.paths) {
        Words starts;
        for (CodeLocation block : path.blocks) starts.push_back(block.address);
        CHECK(path_count(two, starts) == 2 * path.count);
    }
    CHECK(two.stacks[0].instructions == 2 * one.stacks[0].instructions);
    CHECK(two.stacks[0].samples == 2);
    check_invariants(twice);
}

TEST_CASE("filling a profile takes nothing away and adds nothing twice") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x1000);
    run.sample(program, {a, a, a});
    CHECK(run.result().edges[0].count == 2);
    CHECK(run.result().edges[0].count == 2);
    run.sample(program, {a, a, a});
    CHECK(run.result().edges[0].count == 4);
}

TEST_CASE("filling in the middle of a sample counts what is complete, and the rest later") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x1000);
    run.begin();
    run.add(program, {a, a, a});
    CHECK(run.result().edges[0].count == 1);  // the end of the third path is not known yet
    run.add(program, {a});
    run.collector.end();
    CHECK(run.result().edges[0].count == 3);
    check_invariants(run);
}

TEST_CASE("the same block under the ids of two emulators is one block") {
    TestRun run;
    TestProgram first, second;
    const auto a = first.add(0x1000, Terminator::jump, 0x1000);
    second.add(0x5000, Terminator::none);
    const auto same = second.add(0x1000, Terminator::jump, 0x1000);
    run.sample(first, {a, a});
    run.collector.new_emulator();
    run.sample(second, {same, same, same});
    const Profile p = run.result();
    REQUIRE(p.edges.size() == 1);
    CHECK(p.edges[0].count == 3);
    CHECK(p.sampling.counters.at("blocks") == 1);
}

TEST_CASE("code that changed at the same place is another block") {
    TestRun run;
    TestProgram program;
    const auto old_code = program.add(0x1000, Terminator::none, 0, 3);
    const auto new_code = program.add(0x1000, Terminator::none, 0, 5);
    CHECK(run.sample(program, {old_code, new_code}).instructions == 8);
    check_invariants(run);
}

}  // namespace
}  // namespace shadowprof::collector_test
