// Samples of several threads: however they take turns, each counts as if it were alone.
#include <doctest/doctest.h>

#include <random>

#include "profile/collect/test_traces.h"

namespace shadowprof::threads_test {
using namespace shadowprof::testing;

namespace {

using Words = std::vector<std::uint64_t>;

// Functions that call each other in a random walk. Every thread walks from another start.
struct Walk {
    Walk() {
        for (std::uint64_t i = 0; i < functions; ++i) {
            const auto base = 0x1000 * (i + 1);
            enter.push_back(program.add(base, Terminator::conditional, base + 0x40));
            calls.push_back(program.add(base + 0x10, Terminator::call, 0));
            after.push_back(program.add(base + 0x20, Terminator::none));
            leave.push_back(program.add(base + 0x40, Terminator::ret));
        }
    }
    Words words(std::uint64_t seed, std::size_t length) {
        std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed + 1));
        Words result;
        std::vector<std::size_t> stack;
        std::size_t at = seed % functions;
        result.push_back(enter[at]);
        while (result.size() < length) {
            if (stack.empty() || (random() % 2 && stack.size() < 20)) {
                result.push_back(calls[at]);
                stack.push_back(at);
                at = random() % functions;
                result.push_back(enter[at]);
            } else {
                result.push_back(leave[at]);
                at = stack.back();
                stack.pop_back();
                result.push_back(after[at]);
            }
        }
        return result;
    }

    static constexpr std::size_t functions = 5;
    TestProgram program;
    std::vector<BlockId> enter, calls, after, leave;
};

std::vector<GuestAddress> stack_of(std::uint32_t thread) {
    return {{0x1000 * (thread % Walk::functions + 1)}, {0x90001 + 0x100 * thread}};
}

void check_same(const Profile& apart, const Profile& together) {
    CHECK(apart.edges == together.edges);
    CHECK(apart.paths == together.paths);
    CHECK(apart.calls == together.calls);
    CHECK(apart.stacks == together.stacks);
}

// Returns the number of times that the graph was emptied.
std::uint64_t check_interleaved(std::size_t length) {
    constexpr std::uint32_t threads = 4;
    Walk walk;
    std::vector<Words> words;
    for (std::uint32_t i = 0; i < threads; ++i) words.push_back(walk.words(i, length));

    CollectorOptions options;
    options.limits.stack_bytes = UINT32_MAX;
    TestRun apart(options);
    for (std::uint32_t i = 0; i < threads; ++i) {
        apart.collector.begin({apart.resolver, stack_of(i)});
        CHECK_FALSE(apart.add(walk.program, words[i]).damaged);
        apart.collector.end();
    }
    TestRun together(options);
    together.collector.begin({together.resolver, stack_of(0)});
    for (std::uint32_t i = 1; i < threads; ++i) together.collector.begin_thread(i, stack_of(i));
    std::mt19937 random(7);
    std::vector<std::size_t> done(threads);
    for (std::size_t left = threads; left != 0;) {
        const auto thread = static_cast<std::uint32_t>(random() % threads);
        auto& from = done[thread];
        if (from == words[thread].size()) continue;
        const auto count = std::min<std::size_t>(1 + random() % 50, words[thread].size() - from);
        const auto first = words[thread].begin() + static_cast<std::ptrdiff_t>(from);
        const Words part(first, first + static_cast<std::ptrdiff_t>(count));
        together.collector.add(thread, batch(part), walk.program.table());
        from += count;
        left -= from == words[thread].size();
    }
    together.collector.end();
    const auto result = together.result();
    check_same(apart.result(), result);
    CHECK(result.sampling.counters.at("samples_collected") == 1);
    REQUIRE(together.profile.check());
    return result.sampling.counters.at("graphs_emptied");
}

}  // namespace

TEST_CASE("threads of a sample count as if each were alone") {
    CHECK(check_interleaved(5000) == 0);
}

TEST_CASE("the same when the graph is emptied between turns") {
    CHECK(check_interleaved(200'000) > 0);
}

TEST_CASE("a thread without a stack starts where its first block is") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x2000);
    const auto b = program.add(0x2000, Terminator::jump, 0x1000);
    run.begin({0x1000});
    run.add(program, {a});
    run.collector.add(5, batch({b}), program.table());
    run.add(program, {b});
    run.collector.end();
    const Profile p = run.result();
    REQUIRE(p.edges.size() == 1);
    CHECK(p.edges[0].to == at(0x2000));
    CHECK(p.edges[0].count == 1);
    REQUIRE(run.profile.check());
}

TEST_CASE("a record that another thread cuts off does not count") {
    TestRun run;
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x2000);
    const auto valued = program.with_values(
        plain, {{.instruction_offset = 0, .reg = 1, .width_bytes = 8, .words = 1}});
    run.begin({0x1000});
    run.add(program, {valued});  // its value is missing
    run.collector.add(1, batch({plain}), program.table());
    const auto last = run.collector.add(0, batch({plain}), program.table());
    CHECK_FALSE(last.damaged);
    CHECK(last.instructions == 3);
    run.collector.end();
    CHECK(run.result().values.empty());
}

}  // namespace shadowprof::threads_test
