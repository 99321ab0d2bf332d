// Stacks of one long sample are counted by following calls, those of samples by the path graph.
// Both must say the same.
#include <doctest/doctest.h>

#include "profile/collect/test_programs.h"

namespace shadowprof::stack_collector_test {
namespace {

using namespace testing;

// Functions of three blocks each. The blocks from 0x1060 to 0x107f have none.
class ThreeBlocks final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable&) override {
        const std::uint64_t start = 0x1000 + (at.address - 0x1000) / 48 * 48;
        if (at.address >= 0x1060 && at.address < 0x1080) return std::nullopt;
        return FoundFunction{{at.module, start}};
    }
};

// Parts repeat, so that records are known.
Words some_trace(Random& random, std::size_t longest) {
    Words trace;
    while (trace.size() < longest) {
        Words part(1 + random.next() % 30);
        for (auto& word : part) word = random.next() % 12;
        for (std::uint64_t times = random.next() % 4; times != 0; --times)
            trace.insert(trace.end(), part.begin(), part.end());
    }
    return trace;
}

// Calls are followed from this number of contexts on; nothing: in samples, by the graph alone.
CollectorOptions options(std::optional<std::size_t> contexts, FunctionFinder* functions) {
    return {.values = false,
            .are_samples = !contexts,
            .value_callers = 0,
            .system_calls = true,
            .leaving_stacks = {.contexts = contexts.value_or(0), .records = 1},
            .functions = functions};
}

void collect(TestRun& run, std::uint64_t seed) {
    TestProgram program = some_program();
    Random random(seed);
    for (int sample = 0; sample < 2; ++sample) {
        run.begin(sample == 0 ? std::vector<std::uint64_t>{}
                              : std::vector<std::uint64_t>{0x1000, 0x1040, 0x9000});
        run.collector.begin_thread(1, {});
        for (int i = 0; i < 12; ++i) {
            const auto thread = static_cast<std::uint32_t>(random.next() % 2);
            const Words words =
                with_sequences(program, some_trace(random, random.next() % 300), random);
            run.collector.add(thread, batch(words), program.table());
            run.collector.add_probed({.pc = {0x200e},
                                      .value = 39,
                                      .key = 0,
                                      .probe = system_call_note,
                                      .missed = 0,
                                      .thread = thread,
                                      .place = 0});
            if (random.coin(0.2)) run.result();
        }
        run.collector.end();
        if (random.coin(0.5)) run.collector.new_emulator(), program = some_program();
    }
}

void check_same(const Profile& a, const Profile& b) {
    REQUIRE(a.stacks.size() == b.stacks.size());
    for (std::size_t i = 0; i < a.stacks.size(); ++i) {
        CHECK(a.stacks[i].frames == b.stacks[i].frames);
        CHECK(a.stacks[i].instructions == b.stacks[i].instructions);
        CHECK(a.stacks[i].samples == b.stacks[i].samples);
    }
    CHECK(std::ranges::equal(a.edges, b.edges, {}, &Edge::count, &Edge::count));
    CHECK(std::ranges::equal(a.paths, b.paths, {}, &Path::count, &Path::count));
    CHECK(a.system_calls == b.system_calls);
    CHECK(a.sampling.counters.at("mismatched_returns") ==
          b.sampling.counters.at("mismatched_returns"));
}

TEST_CASE("calls that are followed have the stacks that the path graph has") {
    ThreeBlocks three_blocks;
    for (FunctionFinder* functions :
         {static_cast<FunctionFinder*>(nullptr), static_cast<FunctionFinder*>(&three_blocks)})
        for (std::uint64_t seed = 0; seed < 60; ++seed)
            for (const std::size_t contexts : {0u, 5u, 20u}) {
                CAPTURE(seed);
                CAPTURE(contexts);
                CAPTURE(functions != nullptr);
                TestRun by_graph(options({}, functions)), by_calls(options(contexts, functions));
                collect(by_graph, seed);
                collect(by_calls, seed);
                check_same(by_graph.result(), by_calls.result());
                CHECK(by_calls.profile.check().has_value());
            }
}

TEST_CASE("contexts beyond the limit are counted and forgotten, and threads stay where they are") {
    TestProgram program;
    const auto calls = program.add(0x1000, Terminator::indirect_call);
    const auto other = program.add(0x1010, Terminator::indirect_call);
    const auto returns = program.add(0x1020, Terminator::ret);
    const auto after = program.add(0x1030, Terminator::jump, 0x1040);
    TestRun run(options(0, nullptr));
    run.begin();
    // All ways to make 20 calls of two functions: more contexts than there is room for.
    Words words;
    std::uint64_t instructions = 0;
    for (std::uint64_t way = 0; way < (1u << 17); ++way) {
        for (std::uint64_t call = 0; call < 17; ++call)
            words.push_back((way >> call) & 1 ? other : calls);
        for (std::uint64_t call = 0; call < 17; ++call) words.push_back(returns);
        words.push_back(after);
        instructions += 35 * 3;
        if (words.size() < 100'000) continue;
        run.add(program, words);
        words.clear();
    }
    run.add(program, words);
    run.collector.end();
    const Profile profile = run.result();
    std::uint64_t sum = 0;
    for (const Stack& stack : profile.stacks) sum += stack.instructions;
    CHECK(sum == instructions);
    CHECK(profile.sampling.counters.at("graphs_emptied") > 0);
    CHECK(run.profile.check().has_value());
}

}  // namespace
}  // namespace shadowprof::stack_collector_test
