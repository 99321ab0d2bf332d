// Invariances of streams whose truth is known.
#include "profile/kinds/values/invariance.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "profile/statistics/counting_sample.h"

namespace shadowprof::invariance_test {
namespace {

using doctest::Approx;

// The value profile of a hotlist.
ValueProfile profile_of(const CountingSample<std::uint64_t>& sample) {
    const auto summary = sample.summary();
    ValueProfile values{.count = summary.executions, .compensation = summary.compensation};
    for (const auto& estimate : summary.top) {
        TopValue top{std::vector<std::byte>(8), rounded_count(estimate.count), estimate.error};
        std::memcpy(top.value.data(), &estimate.value, 8);
        values.top.push_back(top);
    }
    return values;
}

SamplingStats exact() {
    SamplingStats stats;
    stats.exact.emplace();
    return stats;
}
SamplingStats of_samples(std::uint64_t samples) {
    SamplingStats stats;
    stats.samples = samples;
    return stats;
}

std::optional<Invariance> invariance_of(ValueProfile values, const SamplingStats& stats) {
    state_invariance(values, stats);
    return values.invariance;
}

// `executions` values, made by `next`.
template <typename Next>
ValueProfile stream_of(std::uint64_t executions, std::uint64_t seed, Next next) {
    CountingSample<std::uint64_t> sample;
    Random random(seed), coins(mix64(seed));
    for (std::uint64_t i = 0; i < executions; ++i) sample.add(next(i, random), coins);
    return profile_of(sample);
}

}  // namespace

TEST_CASE("values that never repeat have no invariance, however many there are") {
    for (const std::uint64_t executions : {1u, 2u, 30u, 40u, 1000u, 100'000u}) {
        const auto values =
            stream_of(executions, executions, [](std::uint64_t i, Random&) { return i; });
        CHECK_FALSE(values.top.empty());
        CHECK_FALSE(invariance_of(values, exact()));
        CHECK_FALSE(invariance_of(values, of_samples(1000)));
    }
}

TEST_CASE("nor have values that are all as rare, though each repeats") {
    const auto values = stream_of(200'000, 3, [](std::uint64_t, Random& random) {
        return static_cast<std::uint64_t>(random.unit() * 10'000);
    });
    // The estimate alone is far above the truth.
    CHECK(static_cast<double>(values.top[0].count) / 200'000 > 10.0 / 10'000);
    CHECK_FALSE(invariance_of(values, exact()));
}

TEST_CASE("an exact run's lower bound is what was certainly counted") {
    const auto few = stream_of(1000, 1, [](std::uint64_t i, Random&) { return i % 10; });
    CHECK(invariance_of(few, exact()) == Invariance{0.1, 0.1});
    const auto some = stream_of(
        200'000, 2, [](std::uint64_t i, Random&) { return i % 2 ? std::uint64_t{7} : i + 100; });
    const auto found = invariance_of(some, exact());
    REQUIRE(found);
    CHECK(found->share == Approx(0.5).epsilon(0.1));
    CHECK(found->lower_bound <= 0.5);
    CHECK(found->lower_bound > 0.4);
}

TEST_CASE("the lower bound of samples, from the formula by hand") {
    // If all trials have the value: exp(-n ln 1/p) / p = p^(n - 1).
    CHECK(invariance_lower_bound(2, 2) == Approx(0.05));
    CHECK(invariance_lower_bound(3, 3) == Approx(std::sqrt(0.05)));
    CHECK(invariance_lower_bound(100, 100) == Approx(std::pow(0.05, 1.0 / 99)));
    // If half of them have it: (1/2 / p)^-n/2 (1/2 / (1 - p))^-n/2 / p = (4 p (1 - p))^(n/2) / p.
    const double p = invariance_lower_bound(50, 100);
    CHECK(std::pow(4 * p * (1 - p), 50) / p == Approx(0.05));
    CHECK(p < 0.5);
    CHECK(invariance_lower_bound(1, 1) == 0);
    CHECK(invariance_lower_bound(1, 1000) == 0);
    CHECK(invariance_lower_bound(0, 0) == 0);
    CHECK(invariance_lower_bound(1e9, 1e9) == Approx(1));
    CHECK(invariance_lower_bound(5, 4) == 0);  // cannot occur
}

TEST_CASE("it is no more than the truth but for one in twenty draws") {
    // `truth` is the share of the most frequent value. The other values have the rest in equal
    // parts or never repeat.
    constexpr int draws = 2000;
    for (const double truth : {0.02, 0.3, 0.5, 0.97})
        for (const std::uint64_t trials : {5u, 20u, 200u}) {
            int wrong = 0;
            for (int draw = 0; draw < draws; ++draw) {
                Random random(mix64(static_cast<std::uint64_t>(draw) * 1000 + trials));
                std::map<std::uint64_t, double> seen;
                double most = 0;
                for (std::uint64_t i = 0; i < trials; ++i) {
                    const auto value = static_cast<std::uint64_t>(random.unit() / truth);
                    most = std::max(most, ++seen[value]);
                }
                wrong += invariance_lower_bound(most, static_cast<double>(trials)) > truth;
            }
            CHECK(wrong <= draws / 20);
        }
}

TEST_CASE("more samples tell more, and one sample counts as few trials") {
    const auto always = stream_of(5000, 1, [](std::uint64_t, Random&) { return std::uint64_t{7}; });
    double last = 0;
    for (const std::uint64_t samples : {1u, 2u, 10u, 100u, 10'000u}) {
        const auto found = invariance_of(always, of_samples(samples));
        REQUIRE(found);
        CHECK(found->share == 1);
        CHECK(found->lower_bound > last);
        last = found->lower_bound;
    }
    CHECK(invariance_of(always, of_samples(1))->lower_bound ==
          Approx(invariance_lower_bound(4, 4)));
    CHECK(last == Approx(invariance_lower_bound(5000, 5000)));
}

TEST_CASE("an exact run whose values were recorded in bursts is a sample as well") {
    SamplingStats bursts = exact();
    bursts.bursts.emplace();
    const auto always = stream_of(100, 1, [](std::uint64_t, Random&) { return std::uint64_t{7}; });
    CHECK(invariance_of(always, bursts)->lower_bound == Approx(invariance_lower_bound(100, 100)));
    CHECK(invariance_of(always, exact())->lower_bound == 1);
}

TEST_CASE("without a compensation the largest error stands for it") {
    ValueProfile values{.count = 100, .top = {{{std::byte{1}}, 60, 10}, {{std::byte{2}}, 30, 12}}};
    CHECK(invariance_of(values, exact()) == Invariance{0.6, 0.48});
    values.compensation = 5;
    CHECK(invariance_of(values, exact()) == Invariance{0.6, 0.55});
    values.compensation = 31;
    CHECK_FALSE(invariance_of(values, exact()));
}

TEST_CASE("callers have their own") {
    Profile profile;
    profile.sampling = exact();
    profile.values = {{.count = 10, .top = {{{std::byte{1}}, 5, 0}, {{std::byte{2}}, 5, 0}}}};
    profile.values[0].by_caller = {{.count = 5, .top = {{{std::byte{1}}, 5, 0}}},
                                   {.count = 1, .top = {{{std::byte{2}}, 1, 0}}}};
    state_invariance(profile);
    CHECK(share_of(profile.values[0].invariance) == 0.5);
    CHECK(share_of(profile.values[0].by_caller[0].invariance) == 1);
    CHECK_FALSE(profile.values[0].by_caller[1].invariance);
}

}  // namespace shadowprof::invariance_test
