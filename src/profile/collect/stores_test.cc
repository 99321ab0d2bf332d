// Limits of stack trees, path stores and tables that whole traces do not reach easily.
#include <doctest/doctest.h>

#include <array>
#include <map>

#include "profile/collect/test_traces.h"
#include "profile/kinds/paths/path_store.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof::stores_test {
namespace {

using namespace testing;

CanonicalBlock block(std::uint64_t start, Terminator terminator, std::uint32_t module = 0) {
    CanonicalBlock b;
    b.start = {module, start};
    b.last = {module, start + 12};
    b.end = {module, start + 16};
    b.guest_start = {start};
    b.guest_last = {start + 12};
    b.instructions = 3;
    b.terminator = terminator;
    return b;
}

TEST_CASE("a call to the next instruction is no call") {
    StackTree tree;
    const ContextId context = tree.initial(std::vector{at(0x1000)});
    const auto step =
        tree.step(context, block(0x1000, Terminator::call), block(0x1010, Terminator::none));
    CHECK(step.context == context);
}

TEST_CASE("a return from the outermost frame makes its caller the outermost") {
    StackTree tree;
    const ContextId context = tree.initial(std::vector{at(0x1000)});
    const auto step =
        tree.step(context, block(0x1000, Terminator::ret), block(0x7000, Terminator::none));
    CHECK(step.mismatch);
    CHECK(tree.frames(step.context) == std::vector{at(0x7000)});
}

TEST_CASE("a jump into another module is a tail call, one within a module is not") {
    StackTree tree;
    const ContextId context = tree.initial(std::vector{at(0x1000), at(0x9001)});
    const auto stays =
        tree.step(context, block(0x1020, Terminator::jump), block(0x7000, Terminator::none));
    CHECK(stays.context == context);
    const auto leaves = tree.step(context, block(0x1020, Terminator::indirect_jump),
                                  block(0x7000, Terminator::none, 1));
    CHECK(tree.frames(leaves.context) == std::vector{at(0x9000), CodeLocation{1, 0x7000}});
    const auto returns = tree.step(leaves.context, block(0x7000, Terminator::ret, 1),
                                   block(0x9001, Terminator::none));
    CHECK_FALSE(returns.mismatch);
}

TEST_CASE("of a stack that is too deep the innermost part is kept") {
    StackTree tree;
    std::vector<CodeLocation> stack;
    for (std::uint64_t i = 0; i < StackTree::max_depth + 50; ++i) stack.push_back(at(0x1000 + i));
    const auto frames = tree.frames(tree.initial(stack));
    CHECK(frames.size() == StackTree::max_depth);
    CHECK(frames.back() == at(0x1000));
}

TEST_CASE("a copied context unwinds like its original") {
    StackTree tree, copy;
    ContextId context = tree.initial(std::vector{at(0x1000), at(0x9001)});
    for (std::uint32_t i = 0; i < StackTree::max_depth + 10; ++i)
        context =
            tree.step(context, block(0x2000, Terminator::call), block(0x2000, Terminator::none))
                .context;
    ContextId copied = copy.copy(tree, context);
    CHECK(copy.frames(copied) == tree.frames(context));
    for (std::uint32_t i = 0; i < StackTree::max_depth + 10; ++i) {
        const auto step =
            copy.step(copied, block(0x2010, Terminator::ret), block(0x2010, Terminator::none));
        REQUIRE_FALSE(step.mismatch);
        copied = step.context;
    }
    CHECK(copy.frames(copied) == std::vector{at(0x9000), at(0x1000)});
}

TEST_CASE("without callers a tree has a context for each function, and returns lead back to it") {
    StackTree tree(false);
    const ContextId outer = tree.initial(std::vector{at(0x1000), at(0x9001)});
    CHECK(tree.frames(outer) == std::vector{at(0x1000)});
    const auto inner =
        tree.step(outer, block(0x1020, Terminator::call), block(0x5000, Terminator::none)).context;
    CHECK(tree.frames(inner) == std::vector{at(0x5000)});
    ContextId context = inner;
    for (int i = 0; i < 10; ++i) {
        context =
            tree.step(context, block(0x5020, Terminator::call), block(0x5000, Terminator::ret))
                .context;
        CHECK(context == inner);
    }
    const auto size = tree.size();
    const auto back =
        tree.step(inner, block(0x5040, Terminator::ret), block(0x1030, Terminator::none));
    CHECK(back.context == outer);
    CHECK_FALSE(back.mismatch);
    CHECK(tree.size() == size);

    // The calls that were seen outlive the contexts.
    StackTree later = tree.without_contexts();
    const ContextId first = later.initial(std::vector{at(0x5000)});
    const auto returned =
        later.step(first, block(0x5040, Terminator::ret), block(0x1030, Terminator::none)).context;
    CHECK(later.frames(returned) == std::vector{at(0x1000)});
}

TEST_CASE("without callers a return to a place that was not called from is a jump") {
    StackTree tree(false);
    const ContextId context = tree.initial(std::vector{at(0x1000)});
    const auto ret = block(0x1000, Terminator::ret);
    CHECK(tree.step(context, ret, block(0x7000, Terminator::none)).context == context);
    const auto leaves = tree.step(context, ret, block(0x7000, Terminator::none, 1)).context;
    CHECK(tree.frames(leaves) == std::vector{CodeLocation{1, 0x7000}});
    auto known = block(0x7000, Terminator::none);
    known.function = {.start = at(0x6000)};
    CHECK(tree.frames(tree.step(context, ret, known).context) == std::vector{at(0x6000)});
}

TEST_CASE("a full path store gives up the coldest paths and says how often they were executed") {
    PathStore store({.paths = 10, .blocks = 1000});
    const auto add = [&](std::vector<BlockToken> path, std::uint64_t count) {
        PathStore::Handle place;
        store.add(path, place, count);
    };
    for (BlockToken i = 1; i <= 10; ++i) add({i, i}, i * 100);
    add({50}, 7);
    CHECK(store.size() == 6);
    CHECK(store.given_up() == 100 + 200 + 300 + 400 + 500);
    CHECK(store.paths_given_up() == 5);
    add({10, 10}, 1);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < store.size(); ++i) {
        sum += store.count(i);
        if (store.blocks(i)[0] == 10) CHECK(store.count(i) == 1001);
    }
    CHECK(sum + store.given_up() == 5500 + 7 + 1);
}

TEST_CASE("of paths, the hottest are listed that fit") {
    CollectorOptions options;
    options.limits.path_bytes = 4 * path_file_bytes(2);
    TestRun run(options);
    TestProgram program;
    const auto loop = program.add(0x8000, Terminator::indirect_jump);
    std::vector<std::uint64_t> words{loop};
    for (std::uint64_t i = 0; i < 9; ++i) {
        const auto block = program.add(0x7000 - 0x100 * i, Terminator::indirect_jump);
        for (int times = i % 3 == 1 ? 5 : 1; times != 0; --times)
            words.insert(words.end(), {block, loop});
    }
    run.sample(program, words);
    Profile p = run.result();
    REQUIRE(p.paths.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) CHECK(p.paths[i].count == 5);
    CHECK(p.paths[3].count == 1);
    CHECK(p.sampling.counters.at("paths_left_out") == 6);
    CHECK(p.sampling.counters.at("paths_given_up") == 6);
}

TEST_CASE("limits cost detail, never instructions or edges") {
    CollectorOptions options;
    options.limits.paths = 4;
    options.limits.stack_bytes = 45 * stack_file_bytes(0);
    TestRun run(options);
    TestProgram program;
    std::vector<std::uint64_t> words;
    std::uint64_t instructions = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto call = program.add(0x1000 + 0x100 * i, Terminator::call, 0x1100 + 0x100 * i);
        words.push_back(call);
        instructions += 3;
    }
    const auto loop = program.add(0x8000, Terminator::indirect_jump);
    for (std::uint64_t i = 0; i < 20; ++i) {
        words.insert(words.end(),
                     {loop, program.add(0x7000 - 0x100 * i, Terminator::indirect_jump)});
        instructions += 6;
    }
    CHECK(run.sample(program, words, {0x1000}).instructions == instructions);
    const Profile p = run.result();
    std::uint64_t by_stack = 0, steps = 0;
    for (const Stack& stack : p.stacks) by_stack += stack.instructions;
    for (const Edge& edge : p.edges) steps += edge.count;
    CHECK(by_stack == instructions);
    CHECK(steps == words.size() - 1);
    CHECK(p.paths.size() <= 4);
    std::uint64_t bytes = 0, folded = 0;
    for (const Stack& stack : p.stacks) {
        bytes += stack_file_bytes(stack.frames.size() - 1);
        folded += stack.folded;
    }
    CHECK(bytes <= options.limits.stack_bytes);
    CHECK(folded > 0);
    CHECK(p.sampling.counters.at("folded_stack_instructions") == folded);
    CHECK(p.sampling.counters.at("folded_stacks") > 0);
    CHECK(p.sampling.counters.at("paths_given_up") > 0);
    CHECK(p.sampling.counters.at("paths_left_out") > 0);
    CHECK(run.profile.check().has_value());
}

TEST_CASE("without callers and paths, functions have the instructions that they have with them") {
    TestProgram program;
    const auto outer = program.add(0x1000, Terminator::call, 0x2000);
    const auto inner = program.add(0x2000, Terminator::call, 0x2000);
    const auto by_function = [&](const CollectorOptions& options) {
        TestRun run(options);
        run.sample(program, {outer, inner, inner, inner}, {0x1000, 0x5000});
        const Profile p = run.result();
        CHECK(run.profile.check().has_value());
        CHECK(p.paths.empty() != options.limits.keeps_paths);
        std::map<CodeLocation, std::uint64_t> sums;
        for (const Stack& stack : p.stacks) {
            sums[stack.frames.back()] += stack.instructions;
            if (!options.limits.keeps_callers) CHECK(stack.frames.size() == 1);
        }
        return sums;
    };
    const auto with = by_function({});
    CHECK(with.at(at(0x2000)) == 9);
    CHECK(by_function({.limits = {.keeps_paths = false, .keeps_callers = false}}) == with);
    // Nothing else asks for callers either.
    CHECK(by_function(
              {.values = false, .limits = {.keeps_paths = false, .keeps_callers = false}}) == with);
}

// Samples of a recursion in which each call comes from one of two places.
Profile recursive_profile(const CollectorOptions& options) {
    TestRun run(options);
    TestProgram program;
    const auto left = program.add(0x1000, Terminator::call, 0x1000);
    const auto right = program.add(0x1100, Terminator::call, 0x1000);
    const auto jump = program.add(0x1200, Terminator::jump, 0x1100);
    std::uint64_t random = 1;
    for (int sample = 0; sample < 40; ++sample) {
        std::vector<std::uint64_t> words;
        for (int calls = 0; calls < 30; ++calls) {
            random = mix64(random);
            if (random % 2)
                words.push_back(left);
            else
                words.insert(words.end(), {jump, right});
        }
        run.begin_weighted(3, {0x1000});
        run.add(program, words);
        run.collector.end();
    }
    CHECK(run.profile.check().has_value());
    return run.result();
}

TEST_CASE("stacks that are folded while samples are collected add up to what they were") {
    for (const bool holds : {false, true}) {
        CollectorOptions options;
        options.weighs_by_time = holds;
        const Profile whole = recursive_profile(options);
        options.limits.stack_bytes = 20'000;
        const Profile bounded = recursive_profile(options);
        std::uint64_t bytes = 0;
        const auto sums_of = [&](const Profile& p) {
            std::map<CodeLocation, std::array<std::uint64_t, 2>> sums;
            bytes = 0;
            for (const Stack& stack : p.stacks) {
                sums[stack.frames.back()][0] += stack.instructions;
                sums[stack.frames.back()][1] += stack.samples;
                bytes += stack_file_bytes(stack.frames.size() - 1);
                CHECK(stack.error.has_value());
            }
            return sums;
        };
        const auto all = sums_of(whole);
        CHECK(bytes > options.limits.stack_bytes);
        CHECK(sums_of(bounded) == all);
        CHECK(bytes <= options.limits.stack_bytes);
        CHECK(bounded.edges == whole.edges);
        CHECK(bounded.sampling.counters.at("folded_stacks") > 0);
    }
}

TEST_CASE("edges beyond their limit are left out, counted and noted") {
    CollectorOptions options;
    options.limits.steps = 2;
    TestRun run(options);
    TestProgram program;
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < 10; ++i)
        words.push_back(program.add(0x1000 + 0x100 * i, Terminator::jump, 0x1100 + 0x100 * i));
    run.sample(program, words);
    const Profile p = run.result();
    CHECK(p.edges.size() == 2);
    CHECK(p.sampling.counters.at("steps_left_out") == 7);
    CHECK_FALSE(p.notes.empty());
    CHECK(run.profile.check().has_value());
}

TEST_CASE("index tables tell elements with equal hashes apart") {
    IndexTable table;
    const std::vector<int> elements = {10, 20, 30};
    const std::uint64_t hash = mix64(42);
    for (std::size_t i = 0; i < 3; ++i) table.insert(hash, i);
    for (std::uint32_t i = 0; i < 3; ++i)
        CHECK(table.find(hash, [&](std::uint32_t k) { return elements[k] == elements[i]; }) == i);
    CHECK_FALSE(table.find(hash, [](std::uint32_t) { return false; }));
    CHECK_FALSE(table.find(mix64(7), [](std::uint32_t) { return true; }));
}

TEST_CASE("invariants that do not hold are found and named") {
    BlockRegistry registry;
    IdentityResolver resolver;
    TestProgram program;
    program.add(0x1000, Terminator::jump, 0x1000);
    const BlockToken token = *registry.token(program.blocks[0], resolver);
    const auto add_path = [&](FlowTotals& totals) {
        PathStore::Handle place;
        std::vector steps = {StepTotals::unknown};
        totals.add_path(std::vector{token}, place, steps, 1);
        totals.add_start(token, 1);
    };
    {
        FlowTotals totals(registry);  // with a block that was never left
        add_path(totals);
        CHECK(totals.check().error().code == ErrorCode::invalid);
    }
    {
        FlowTotals totals(registry);  // with instructions that no sample reported
        add_path(totals);
        totals.add_end(token, 1);
        CHECK_FALSE(totals.check().has_value());
        totals.end_batch({.instructions = 3, .weighted = 3});
        CHECK_FALSE(totals.check().has_value());  // still without a stack
    }
}

}  // namespace
}  // namespace shadowprof::stores_test
