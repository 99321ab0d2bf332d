// What the model makes of branches whose predictability is known.
#include "profile/kinds/branches/branch_predictor.h"

#include <doctest/doctest.h>

#include "profile/statistics/random.h"

namespace shadowprof::branch_predictor_test {
namespace {

constexpr std::uint64_t executions = 20'000;
constexpr std::uint64_t pc = mix64(0x401000), other_pc = mix64(0x402000);

// The mispredictions of a conditional branch whose outcome is outcome(i).
template <typename Outcome>
std::uint64_t wrong_directions(Outcome outcome) {
    BranchPredictor predictor;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < executions; ++i) wrong += !predictor.conditional(pc, outcome(i));
    return wrong;
}

// The same of an indirect branch that goes to target(i).
template <typename Target>
std::uint64_t wrong_targets(Target target) {
    BranchPredictor predictor;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < executions; ++i) wrong += !predictor.indirect(pc, target(i));
    return wrong;
}

}  // namespace

TEST_CASE("a branch that always goes one way is predicted from the second time on") {
    CHECK(wrong_directions([](std::uint64_t) { return true; }) <= 2);
    CHECK(wrong_directions([](std::uint64_t) { return false; }) <= 2);
}

TEST_CASE("a pattern that the history holds is learned") {
    CHECK(wrong_directions([](std::uint64_t i) { return i % 2 == 0; }) < 50);
    for (const std::uint64_t n : {3u, 7u, 10u, 24u, 100u, 250u}) {
        CAPTURE(n);
        // Each table has to learn one entry for each place in the loop.
        CHECK(wrong_directions([&](std::uint64_t i) { return i % n != n - 1; }) <
              30 * n / 10 + 100);
    }
}

TEST_CASE("of a loop longer than the history the exit is mispredicted, and little else") {
    constexpr std::uint64_t n = 1000, exits = executions / n;
    const auto wrong = wrong_directions([](std::uint64_t i) { return i % n != n - 1; });
    CHECK(wrong >= exits / 2);
    CHECK(wrong <= 2 * exits + 2);
}

TEST_CASE("half of random outcomes are mispredicted") {
    Random random(7);
    const auto wrong = wrong_directions([&](std::uint64_t) { return random.coin(0.5); });
    CHECK(wrong > 0.47 * executions);
    CHECK(wrong < 0.53 * executions);
}

TEST_CASE("a branch that is taken at random a tenth of the time is mispredicted about as often") {
    Random random(8);
    const auto wrong = wrong_directions([&](std::uint64_t) { return random.coin(0.1); });
    CHECK(wrong > 0.09 * executions);
    CHECK(wrong < 0.16 * executions);
}

TEST_CASE("a branch that repeats a random one before it is predicted") {
    BranchPredictor predictor;
    Random random(9);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < executions; ++i) {
        const bool taken = random.coin(0.5);
        predictor.conditional(other_pc, taken);
        wrong += !predictor.conditional(pc, taken);
    }
    CHECK(wrong < executions / 20);
}

TEST_CASE("one target, and targets in turn, are learned") {
    CHECK(wrong_targets([](std::uint64_t) { return std::uint64_t{0x1000}; }) == 1);
    CHECK(wrong_targets([](std::uint64_t i) { return 0x1000 + i % 2; }) < 50);
    CHECK(wrong_targets([](std::uint64_t i) { return 0x1000 + i % 16; }) < 1000);
}

TEST_CASE("targets that follow from an earlier branch are learned, whatever lies between") {
    BranchPredictor predictor;
    Random random(3);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < executions; ++i) {
        predictor.conditional(other_pc, i % 2 == 0);
        predictor.conditional(other_pc + 1, random.coin(0.5));
        for (int j = 0; j < 7; ++j) predictor.conditional(other_pc + 2, j < 6);
        wrong += !predictor.indirect(pc, 0x1000 + i % 2);
    }
    CHECK(wrong < executions / 50);
}

TEST_CASE("of n random targets one in n is right by chance") {
    for (const std::uint64_t n : {2u, 4u, 64u}) {
        CAPTURE(n);
        Random random(n);
        const auto wrong = static_cast<double>(
            wrong_targets([&](std::uint64_t) { return 1 + random.next() % n; }));
        const double expected = executions * (1 - 1 / static_cast<double>(n));
        CHECK(wrong > 0.93 * expected);
        CHECK(wrong < 1.07 * expected);
    }
}

TEST_CASE("returns are right to the depth of the stack") {
    for (const std::uint64_t depth : {1u, 31u, 32u, 33u, 100u}) {
        CAPTURE(depth);
        ReturnStack stack;
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 1; i <= depth; ++i) stack.push(i);
        for (std::uint64_t i = depth; i >= 1; --i) wrong += !BranchPredictor::return_to(stack, i);
        CHECK(wrong == (depth > ReturnStack::entries ? depth - ReturnStack::entries : 0));
    }
}

TEST_CASE("the model's parameters are those of the tables") {
    const BranchModel model = BranchPredictor::model();
    REQUIRE(model.conditional.size() == 1 + DirectionPredictor::tables);
    CHECK(model.conditional[0] == PredictorTable{0, 8192, 0});
    CHECK(model.conditional[6] == PredictorTable{300, 2048, 12});
    REQUIRE(model.indirect.size() == 1 + TargetPredictor::tables);
    CHECK(model.indirect[4] == PredictorTable{132, 512, 12});
    CHECK(model.return_stack_entries == 32);
}

}  // namespace shadowprof::branch_predictor_test
