// Samples of different weights: one of weight w counts like w samples.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "profile/collect/test_traces.h"
#include "profile/merge/join.h"

namespace shadowprof::weights_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

// Functions that loop and call each other. Each block is traced with a value.
struct Calls {
    static constexpr std::uint64_t functions = 4;

    Calls() {
        for (std::uint64_t i = 0; i < functions; ++i) {
            const auto base = 0x1000 * (i + 1);
            add(base, Terminator::conditional, base + 0x20);
            add(base + 0x10, Terminator::call);
            add(base + 0x20, Terminator::conditional, base);
            add(base + 0x30, Terminator::ret);
        }
    }
    void add(std::uint64_t start, Terminator terminator, std::uint64_t target = 0) {
        ids.push_back(program.with_values(program.add(start, terminator, target),
                                          {{0, 53, 8, 1, ValueSlot::no_source, 0}}));
    }

    // A trace of `length` blocks.
    Words words(std::uint64_t seed, std::size_t length) const {
        Random random(seed);
        std::vector<std::uint64_t> callers;
        Words result;
        std::uint64_t function = 0, part = 0;
        for (std::size_t i = 0; i < length; ++i) {
            result.insert(result.end(), {ids[4 * function + part], random.next() % 3});
            const bool coin = random.unit() < 0.6;
            if (part == 0) {
                part = coin ? 2 : 1;
            } else if (part == 1) {
                callers.push_back(function);
                function = random.next() % functions;
                part = 0;
            } else if (part == 2) {
                part = coin ? 0 : 3;
            } else if (callers.empty()) {
                function = random.next() % functions;
                part = 0;
            } else {
                function = callers.back();
                callers.pop_back();
                part = 2;
            }
        }
        return result;
    }

    TestProgram program;
    std::vector<BlockId> ids;
};

constexpr std::size_t threads = 3;

// A sample of several threads, which take turns.
struct Sample {
    std::vector<Words> of_thread;
    std::uint32_t weight = 1;

    void collect(TestRun& run, const Calls& calls, std::uint32_t as_weight) const {
        const std::vector<GuestAddress> stack = {{0x1004}, {0x90001}}, other = {{0x2004}};
        run.collector.begin({.resolver = run.resolver,
                             .stack = stack,
                             .skip_instructions = 9,
                             .weight = as_weight});
        run.collector.begin_thread(1, other);
        constexpr std::size_t turn = 40;
        for (std::size_t at = 0; at < of_thread[0].size(); at += turn)
            for (std::uint32_t i = 0; i < of_thread.size(); ++i) {
                const auto part =
                    std::span(of_thread[i]).subspan(at, std::min(turn, of_thread[i].size() - at));
                run.collector.add(i, batch({part.begin(), part.end()}), calls.program.table());
            }
        run.collector.end();
    }
};

std::vector<Sample> random_samples(const Calls& calls, std::uint64_t seed, bool equal) {
    Random random(seed);
    std::vector<Sample> samples;
    for (int i = 0; i < 12; ++i) {
        Sample sample;
        sample.weight = equal ? 7 : 1 + static_cast<std::uint32_t>(random.next() % 9);
        for (std::size_t k = 0; k < threads; ++k)
            sample.of_thread.push_back(calls.words(random.next(), 200));
        samples.push_back(std::move(sample));
    }
    return samples;
}

std::uint64_t instructions(const Profile& profile) {
    std::uint64_t sum = 0;
    for (const Path& path : profile.paths) sum += path.count * path.instructions;
    return sum;
}

// Checks that `weighted` is `repeated`, scaled to `unweighted` instructions in all.
void check_scaled(const Profile& weighted, const Profile& repeated, std::uint64_t unweighted) {
    const CountScale scale{unweighted, instructions(repeated)};
    const auto check = [&](const auto& lists, const auto& expected, auto count_of) {
        REQUIRE(lists.size() == expected.size());
        for (const auto& item : expected) {
            const auto same = std::find_if(lists.begin(), lists.end(), [&](const auto& other) {
                return identity(other) == identity(item);
            });
            REQUIRE(same != lists.end());
            CHECK(count_of(*same) == scale(count_of(item)));
        }
    };
    const auto count_of = [](const auto& item) { return item.count; };
    check(weighted.edges, repeated.edges, count_of);
    check(weighted.paths, repeated.paths, count_of);
    check(weighted.calls, repeated.calls, count_of);
    check(weighted.stacks, repeated.stacks, [](const Stack& s) { return s.instructions; });
    check(weighted.stacks, repeated.stacks, [](const Stack& s) { return s.samples; });
}

TEST_CASE("a sample of weight w counts like w samples, scaled to what was executed") {
    const Calls calls;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        TestRun weighted, repeated, once;
        for (const Sample& sample : random_samples(calls, seed, false)) {
            sample.collect(weighted, calls, sample.weight);
            sample.collect(once, calls, 1);
            for (std::uint32_t i = 0; i < sample.weight; ++i) sample.collect(repeated, calls, 1);
        }
        const Profile profile = weighted.result();
        check_scaled(profile, repeated.result(), instructions(once.result()));
        CHECK(weighted.profile.check().has_value());
        CHECK(profile.edges != once.result().edges);
    }
}

void check_same(const Profile& a, const Profile& b) {
    CHECK(a.edges == b.edges);
    CHECK(a.paths == b.paths);
    CHECK(a.calls == b.calls);
    CHECK(a.stacks == b.stacks);
    CHECK(a.sampling.counters == b.sampling.counters);
}

TEST_CASE("samples that are held until the profile is filled count as others do") {
    const Calls calls;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        // Profiles that hold all parts, as many as fit, or until the paths are too many.
        TestRun held({.weighs_by_time = true}), added;
        TestRun some({.limits = {.held_bytes = 4096}, .weighs_by_time = true});
        TestRun full({.limits = {.paths = 100}, .weighs_by_time = true});
        TestRun full_added({.limits = {.paths = 100}});
        for (const Sample& sample : random_samples(calls, seed, false))
            for (TestRun* run : {&held, &added, &some, &full, &full_added})
                sample.collect(*run, calls, sample.weight);
        check_same(held.result(), added.result());
        check_same(some.result(), added.result());
        check_same(full.result(), full_added.result());
        CHECK(held.profile.check().has_value());
        CHECK(some.profile.check().has_value());
        CHECK(full.profile.check().has_value());
    }
}

TEST_CASE("equal weights change nothing") {
    const Calls calls;
    TestRun weighted, once;
    for (const Sample& sample : random_samples(calls, 3, true)) {
        sample.collect(weighted, calls, sample.weight);
        sample.collect(once, calls, 1);
    }
    const Profile a = weighted.result(), b = once.result();
    CHECK(a.edges == b.edges);
    CHECK(a.paths == b.paths);
    CHECK(a.stacks == b.stacks);
    CHECK(a.calls == b.calls);
    CHECK(weighted.profile.check().has_value());
}

TEST_CASE("values are not weighted, nor are the instructions that a batch reports") {
    const Calls calls;
    TestRun weighted, once;
    for (const Sample& sample : random_samples(calls, 4, false)) {
        sample.collect(weighted, calls, sample.weight);
        sample.collect(once, calls, 1);
    }
    const Profile a = weighted.result(), b = once.result();
    REQUIRE(a.values.size() == b.values.size());
    for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(a.values[i].count == b.values[i].count);
    TestRun heavy;
    const std::vector<GuestAddress> stack = {{0x1000}};
    heavy.collector.begin({.resolver = heavy.resolver, .stack = stack, .weight = 1000});
    const auto words = calls.words(1, 50);
    CHECK(heavy.add(calls.program, words).instructions == 150);
    heavy.collector.end();
}

TEST_CASE("scaled counts are rounded, and what was seen stays") {
    const CountScale third{100, 300};
    CHECK(third(0) == 0);
    CHECK(third(1) == 1);
    CHECK(third(4) == 1);
    CHECK(third(5) == 2);
    CHECK(third(300) == 100);
    CHECK(CountScale{}(17) == 17);
    constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
    CHECK(CountScale{huge / 4, huge / 2}(huge / 2) == huge / 4);
}

}  // namespace
}  // namespace shadowprof::weights_test
