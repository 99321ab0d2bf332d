// What calls cost, from a trace into a profile.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "profile/collect/test_programs.h"
#include "profile/flow/flow.h"

namespace shadowprof::call_costs_test {
namespace {

using namespace testing;

constexpr CollectorOptions with_costs = {.are_samples = false, .call_costs = true};

// Site and callee.
using Pair = std::pair<std::uint64_t, std::uint64_t>;
struct Cost {
    std::uint64_t calls = 0, instructions = 0;

    friend bool operator==(const Cost&, const Cost&) = default;
};
using Costs = std::map<Pair, Cost>;

Costs costs_of(const Profile& profile) {
    Costs costs;
    for (const CallCost& cost : profile.call_costs)
        costs[{cost.site.address, cost.callee.address}] = {cost.calls, cost.instructions};
    return costs;
}

// Adds each block's instructions to every call in progress.
class Slow {
  public:
    explicit Slow(const TestProgram& program) : program_(program) {}

    void take(BlockId id, std::uint64_t weight) {
        const BlockInfo& to = program_.blocks[id];
        if (last_ != nullptr)
            step(*last_, to, weight);
        else
            frames_.push_back({0, to.start.value});
        std::set<Pair> pairs;
        for (const auto& [return_to, function] : frames_)
            if (return_to != 0) pairs.insert({return_to - 1, function});
        for (const Pair& pair : pairs) costs_[pair].instructions += weight * to.instructions;
        last_ = &to;
    }
    Costs costs() {
        std::erase_if(costs_, [](const auto& each) { return each.second == Cost{}; });
        return costs_;
    }

  private:
    struct Frame {
        std::uint64_t return_to, function;
    };

    void step(const BlockInfo& from, const BlockInfo& to, std::uint64_t weight) {
        if (is_call(from.terminator) && to.start != from.end) {
            frames_.push_back({from.end.value, to.start.value});
            costs_[{from.end.value - 1, to.start.value}].calls += weight;
        } else if (from.terminator == Terminator::ret) {
            pop(to.start.value);
        } else if (from.terminator == Terminator::indirect_jump &&
                   from.start.value == frames_.back().function) {
            frames_.back().function = to.start.value;
        }
    }
    void pop(std::uint64_t to) {
        for (std::size_t at = frames_.size(); at-- > 1;)
            if (frames_[at].return_to == to) return frames_.resize(at);
        if (frames_.size() == 1) frames_.back().function = to;
    }

    const TestProgram& program_;
    const BlockInfo* last_ = nullptr;
    std::vector<Frame> frames_;
    Costs costs_;
};

TEST_CASE("calls cost what is executed between them and their returns") {
    TestProgram program;
    const auto main = program.add(0x1000, Terminator::call, 0x2000, 5);
    const auto behind = program.add(0x1010, Terminator::jump, 0x1000, 7);
    const auto outer = program.add(0x2000, Terminator::call, 0x3000, 11);
    const auto rest = program.add(0x2010, Terminator::ret, 0, 13);
    const auto inner = program.add(0x3000, Terminator::ret, 0, 9);
    TestRun run(with_costs);
    run.sample(program, {main, outer, inner, rest, behind, main, outer, inner});
    const auto costs = costs_of(run.result());
    CHECK(costs.size() == 2);
    const Cost outer_cost{2, 11 + 9 + 13 + 11 + 9}, inner_cost{2, 9 + 9};
    CHECK(costs.at({0x100f, 0x2000}).instructions == outer_cost.instructions);
    CHECK(costs.at({0x100f, 0x2000}).calls == outer_cost.calls);
    CHECK(costs.at({0x200f, 0x3000}).instructions == inner_cost.instructions);
}

TEST_CASE("of recursive calls the outermost one's instructions count") {
    TestProgram program;
    const auto main = program.add(0x1000, Terminator::call, 0x2000, 1);
    const auto function = program.add(0x2000, Terminator::call, 0x2000, 10);
    const auto leaf = program.add(0x2020, Terminator::ret, 0, 1);
    const auto rest = program.add(0x2010, Terminator::ret, 0, 15);
    TestRun run(with_costs);
    // The third call is to another function, which is not recursive.
    run.sample(program, {main, function, function, leaf, rest, rest});
    CHECK(costs_of(run.result()) == Costs{{{0x100f, 0x2000}, {1, 10 + 10 + 1 + 30}},
                                          {{0x200f, 0x2000}, {1, 10 + 1 + 15}},
                                          {{0x200f, 0x2020}, {1, 1}}});
}

TEST_CASE("a stack at the begin has calls in progress, which are not counted as calls") {
    TestProgram program;
    const auto inner = program.add(0x3000, Terminator::ret, 0, 9);
    const auto rest = program.add(0x2010, Terminator::ret, 0, 13);
    TestRun run(with_costs);
    run.sample(program, {inner, rest}, {0x3000, 0x2010, 0x1010});
    const auto costs = costs_of(run.result());
    CHECK(costs.at({0x200f, 0x3000}) == Cost{0, 9});
    CHECK(costs.at({0x100f, 0x200f}) == Cost{0, 9 + 13});
}

TEST_CASE("costs are those of a slow count, whatever is executed") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        auto program = some_program();
        TestRun run(with_costs);
        Slow slow(program);
        run.begin();
        for (int part = 0; part < 8; ++part) {
            const bool counts = random.coin(0.7);
            run.collector.set_counting(0, counts);
            Words words(1 + random.next() % 300);
            const auto blocks = 2 + random.next() % 10;
            for (auto& word : words) word = random.next() % blocks;
            for (const auto word : words) slow.take(static_cast<BlockId>(word), counts ? 1 : 0);
            run.add(program, words);
            CHECK(costs_of(run.result()) == slow.costs());
        }
        run.collector.end();
        CHECK(costs_of(run.result()) == slow.costs());
    }
}

// Functions of three blocks each, or none.
class Functions final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable&) override {
        const std::uint64_t bytes = 3 * TestProgram::block_bytes;
        return FoundFunction{{at.module, at.address - (at.address - 0x1000) % bytes}};
    }
};

TEST_CASE("records of several blocks and weights count as single blocks do") {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        auto program = some_program();
        Functions functions;
        CollectorOptions options = with_costs;
        if (seed % 3 != 0) options.functions = &functions;
        Words plain(600);
        // Mostly as control would go, so that calls return.
        std::vector<std::uint64_t> returns;
        for (std::size_t i = 0; i < plain.size(); ++i) {
            plain[i] = random.next() % program.blocks.size();
            if (i == 0 || random.coin(0.02)) continue;
            const auto before = plain[i - 1];
            const auto& block = program.blocks[before];
            if (block.terminator == Terminator::call) returns.push_back(before + 1);
            if (block.terminator != Terminator::ret || returns.empty()) continue;
            plain[i] = returns.back() % program.blocks.size();
            returns.pop_back();
        }
        TestRun alone(options), together(options);
        alone.begin_weighted(3, {});
        alone.add(program, plain);
        alone.collector.end();
        const auto words = with_sequences(program, plain, random);
        together.begin_weighted(3, {});
        together.add(program, words);
        together.add(program, words);
        together.collector.end();
        TestRun twice(options);
        auto double_plain = plain;
        double_plain.insert(double_plain.end(), plain.begin(), plain.end());
        twice.begin_weighted(3, {});
        twice.add(program, double_plain);
        twice.collector.end();
        CHECK(costs_of(together.result()) == costs_of(twice.result()));
        CHECK(costs_of(alone.result()) != costs_of(twice.result()));
    }
}

TEST_CASE("too many calls in progress are forgotten") {
    TestProgram program;
    const auto main = program.add(0x1000, Terminator::call, 0x2000, 1);
    const auto function = program.add(0x2000, Terminator::call, 0x2000, 1);
    TestRun run(with_costs);
    Words words(CallCostCollector::max_depth + 10, function);
    words.front() = main;
    run.sample(program, words);
    const auto costs = costs_of(run.result());
    CHECK(costs.at({0x200f, 0x2000}).calls == words.size() - 2);
    CHECK(costs.at({0x200f, 0x2000}).instructions <= words.size());
}

TEST_CASE("without being asked for there are no costs of calls") {
    TestRun run;
    run.sample(some_program(), {1, 2, 3});
    CHECK(run.result().call_costs.empty());
}

}  // namespace
}  // namespace shadowprof::call_costs_test
