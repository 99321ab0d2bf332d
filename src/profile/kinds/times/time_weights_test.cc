// Samples are weighted by the time that looks find in the functions in which they began.
#include "profile/kinds/times/time_weights.h"

#include <doctest/doctest.h>

#include "profile/collect/test_programs.h"

namespace shadowprof::time_weights_test {
namespace {

using namespace testing;
using Function = SampleOrigin::Function;
using Looks = std::map<Function, std::uint64_t>;

constexpr double period_ns = 10e6;

Function function(std::uint64_t start) {
    return {CodeLocation{0, start}};
}
const Function a = function(0x1000), b = function(0x2000), c = function(0x3000);

// `count` samples that begin in `origin`. Ten samples make up a second.
std::vector<SampleOrigin> samples_of(std::optional<Function> origin, std::size_t count) {
    return std::vector<SampleOrigin>(count, {.function = origin, .time_ns = 1e8});
}

std::vector<SampleOrigin> join(std::vector<SampleOrigin> first,
                               const std::vector<SampleOrigin>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::vector<double> factors(std::span<const SampleOrigin> samples, const Looks& looks,
                            double ns_per_look) {
    return weigh_by_time(samples, looks, ns_per_look).factors;
}

TEST_CASE("samples that begin in a function stand for the time that looks find there") {
    const auto samples = join(samples_of(a, 8), samples_of(b, 2));
    const auto found = factors(samples, {{a, 50}, {b, 50}}, period_ns);
    for (std::size_t i = 0; i < 8; ++i) CHECK(found[i] == doctest::Approx(0.625));
    for (std::size_t i = 8; i < 10; ++i) CHECK(found[i] == doctest::Approx(2.5));
}

TEST_CASE("samples count by their own time") {
    auto samples = join(samples_of(a, 5), samples_of(b, 5));
    for (std::size_t i = 0; i < 5; ++i) samples[i].time_ns *= 3;
    const auto found = factors(samples, {{a, 100}, {b, 100}}, period_ns);
    CHECK(found[0] == doctest::Approx(2.0 / 3));
    CHECK(found[9] == doctest::Approx(2));
}

TEST_CASE("the time where no sample began is shared out") {
    const auto samples = join(samples_of(a, 5), samples_of(b, 5));
    const auto found = factors(samples, {{a, 20}, {b, 60}, {c, 20}}, period_ns);
    CHECK(found[0] == doctest::Approx(0.5));
    CHECK(found[9] == doctest::Approx(1.5));
}

TEST_CASE("samples that began in the kernel keep their weights") {
    const auto samples = join(join(samples_of(a, 8), samples_of(b, 2)), samples_of({}, 3));
    const auto found = factors(samples, {{a, 50}, {b, 50}}, period_ns);
    CHECK(found[0] == doctest::Approx(0.625));
    CHECK(found[12] == 1);
}

TEST_CASE("code without a function is code like any other") {
    const auto samples = join(samples_of(Function{}, 8), samples_of(b, 2));
    CHECK(factors(samples, {{Function{}, 50}, {b, 50}}, period_ns)[9] == doctest::Approx(2.5));
}

TEST_CASE("a function that chance met, or missed, counts no more than four times") {
    const auto samples = join(samples_of(a, 19), samples_of(b, 1));
    const auto found = factors(samples, {{a, 100}, {b, 100}}, period_ns);
    CHECK(found[19] == 4);
    CHECK(found[0] == doctest::Approx(10.0 / 19));
}

TEST_CASE("functions that looks do not see keep their samples' weights") {
    const auto samples = join(join(samples_of(a, 8), samples_of(b, 2)), samples_of(c, 4));
    const auto weights = weigh_by_time(samples, Looks{{a, 50}, {b, 50}}, period_ns);
    CHECK(weights.factors[0] == doctest::Approx(0.625));
    CHECK(weights.factors[10] == 1);
    CHECK(weights.strata[10] == weights.known_strata);
    // A single sample may be there by chance.
    const auto chance = join(join(samples_of(a, 8), samples_of(b, 2)), samples_of(c, 1));
    CHECK(factors(chance, {{a, 50}, {b, 50}}, period_ns)[10] == 0.25);
}

TEST_CASE("parts of a sample weigh alike, also those that stand for no time") {
    auto samples = join(samples_of(a, 8), samples_of(b, 3));
    samples.back().time_ns = 0;
    samples.back().is_first_part = false;
    const auto weights = weigh_by_time(samples, Looks{{a, 50}, {b, 50}}, period_ns);
    CHECK(weights.factors[10] == doctest::Approx(2.5));
    CHECK(weights.strata[10] == weights.strata[9]);
}

TEST_CASE("functions with few samples are one stratum for errors, and the kernel is the last") {
    auto samples = join(join(samples_of(a, 8), samples_of(b, 2)), samples_of({}, 3));
    const Looks looks = {{a, 50}, {b, 50}, {c, 10}};
    auto weights = weigh_by_time(samples, looks, period_ns);
    CHECK(weights.known_strata == 1);
    CHECK(weights.looks == 100);
    CHECK(weights.strata[8] == weights.strata[0]);
    CHECK(weights.strata[10] == 1);
    // Two functions with few samples, and a part of a sample that began before.
    samples = join(samples, samples_of(c, 2));
    samples = join(samples, samples_of(b, 1));
    samples.back().is_first_part = false;
    weights = weigh_by_time(samples, looks, period_ns);
    CHECK(weights.known_strata == 2);
    CHECK(weights.strata[8] == 0);
    CHECK(weights.strata[13] == 0);
    CHECK(weights.strata[0] == 1);
    CHECK(weights.strata[10] == 2);
}

TEST_CASE("looks are not used where they say too little") {
    const std::vector<double> same(10, 1.0);
    const auto samples = join(samples_of(a, 8), samples_of(b, 2));
    const Looks looks = {{a, 50}, {b, 50}};
    REQUIRE(factors(samples, looks, period_ns) != same);
    // Too few samples or looks.
    CHECK(factors(std::span(samples).first(7), looks, period_ns) == std::vector<double>(7, 1.0));
    CHECK(factors(samples, {{a, 20}, {b, 19}}, 1e9 / 39) == same);
    CHECK(factors(samples, {}, 0) == same);
    CHECK(factors({}, looks, period_ns).empty());
    // Looks have seen too little or too much of the time, or nothing where the samples are.
    CHECK(factors(samples, looks, period_ns * 0.8) == same);
    CHECK(factors(samples, looks, period_ns * 1.4) == same);
    CHECK(factors(samples, {{c, 100}}, period_ns) == same);
    // Several threads.
    auto of_threads = samples;
    of_threads[3].has_one_thread = false;
    CHECK(factors(of_threads, looks, period_ns) == same);
}

// A function for every 256 bytes.
class EvenFunctions final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable&) override {
        return FoundFunction{{at.module, at.address & ~std::uint64_t{0xff}}};
    }
};

// Two loops, and the number of blocks that samples execute of each.
struct Loops {
    TestProgram program;
    std::vector<BlockId> ids;

    Loops() {
        ids.push_back(program.add(0x1000, Terminator::jump, 0x1000));
        ids.push_back(program.add(0x2000, Terminator::conditional, 0x2000));
    }
    void sample(SampleCollector& collector, AddressResolver& resolver, std::size_t loop,
                std::uint32_t weight, std::size_t turns) const {
        const std::vector<GuestAddress> stack = {{loop == 0 ? 0x1000u : 0x2000u}};
        collector.begin({.resolver = resolver,
                         .stack = stack,
                         .weight = weight,
                         .time_ns = 1e8,
                         .began_at = stack[0]});
        if (turns != 0) collector.add(batch(Words(turns, ids[loop])), program.table());
        collector.end();
    }
};

std::map<std::uint64_t, std::uint64_t> executions(const Profile& profile) {
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const Edge& edge : profile.edges) counts[edge.to.address] += edge.count;
    return counts;
}

struct Variation {
    std::uint32_t first_weight = 64;  // weight of the first loop's samples
    int empty = 0;                    // samples of the first loop that count nothing
};

// Eight samples of one loop and two of the other.
Profile profile_of_loops(bool weighs_by_time, std::vector<PlaceTime> times,
                         Variation variation = {}) {
    const Loops loops;
    EvenFunctions functions;
    ModuleTable modules;
    IdentityResolver resolver;
    ProcessProfile collected(
        {.values = false, .weighs_by_time = weighs_by_time, .functions = &functions}, modules);
    auto& collector = collected.add_collector();
    for (int i = 0; i < 10; ++i)
        if (i % 5 == 4)
            loops.sample(collector, resolver, 1, 64, 11);
        else
            loops.sample(collector, resolver, 0, variation.first_weight, 10);
    for (int i = 0; i < variation.empty; ++i)
        loops.sample(collector, resolver, 0, variation.first_weight, 0);
    Profile profile;
    profile.times = std::move(times);
    collected.fill(profile);
    CHECK(collected.check().has_value());
    // Filling a profile again gives the same.
    Profile again;
    again.times = profile.times;
    collected.fill(again);
    CHECK(again.edges == profile.edges);
    CHECK(again.stacks == profile.stacks);
    return profile;
}

TEST_CASE("without looks a profile is as if no sample had been held") {
    const Profile held = profile_of_loops(true, {}), plain = profile_of_loops(false, {});
    CHECK(held.edges == plain.edges);
    CHECK(held.paths == plain.paths);
    CHECK(held.calls == plain.calls);
    CHECK(held.stacks == plain.stacks);
    CHECK(held.sampling.counters == plain.sampling.counters);
    CHECK(held.function_batches.sizes.size() == plain.function_batches.sizes.size());
}

TEST_CASE("a profile's counts follow looks") {
    // Half of the time is in each loop, at places inside the functions.
    const std::vector<PlaceTime> times = {{{0, 0x1008}, 50, 500'000'000},
                                          {{0, 0x2010}, 50, 500'000'000}};
    const Profile profile = profile_of_loops(true, times);
    // By the number of samples it would be 8 * 9 to 2 * 10.
    const auto counts = executions(profile);
    CHECK(static_cast<double>(counts.at(0x1000)) / static_cast<double>(counts.at(0x2000)) ==
          doctest::Approx(0.9).epsilon(0.02));
}

TEST_CASE("samples that count nothing take no part") {
    const std::vector<PlaceTime> times = {{{0, 0x1008}, 50, 500'000'000},
                                          {{0, 0x2010}, 50, 500'000'000}};
    CHECK(executions(profile_of_loops(true, times, {.empty = 3})) ==
          executions(profile_of_loops(true, times)));
}

TEST_CASE("weights that samples have by themselves stay between those of a function") {
    const std::vector<PlaceTime> times = {{{0, 0x1008}, 80, 800'000'000},
                                          {{0, 0x2010}, 20, 200'000'000}};
    CHECK(executions(profile_of_loops(true, times, {.first_weight = 320})) ==
          executions(profile_of_loops(false, {}, {.first_weight = 320})));
}

}  // namespace
}  // namespace shadowprof::time_weights_test
