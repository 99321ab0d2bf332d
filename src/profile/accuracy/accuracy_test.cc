// The metrics of profiles so small that they can be computed by hand.
#include "profile/accuracy/accuracy.h"

#include <doctest/doctest.h>

#include <numeric>

namespace shadowprof::accuracy_test {
namespace {

constexpr std::size_t all = 1000;
using Rows = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // address, count

Profile program() {
    Profile profile;
    profile.modules = {{"/bin/a", "aa", 10}};
    profile.sampling.exact.emplace();
    return profile;
}

Profile with_edges(const Rows& rows) {
    Profile profile = program();
    for (const auto& [address, count] : rows)
        profile.edges.push_back({{0, address}, {0, 1}, EdgeKind::taken, count});
    return profile;
}

Profile with_calls(const Rows& rows) {
    Profile profile = program();
    for (const auto& [address, count] : rows)
        profile.calls.push_back({{0, address}, {0, 1}, count});
    return profile;
}

Profile with_paths(const Rows& rows) {
    Profile profile = program();
    for (const auto& [address, count] : rows)
        profile.paths.push_back({{{0, address}, {0, 1}}, 7, count});
    return profile;
}

Profile with_streams(const Rows& rows) {
    Profile profile = program();
    for (const auto& [address, occurrences] : rows)
        profile.streams.push_back({{{{0, 1}, address}, {{0, 2}, address + 8}}, occurrences});
    return profile;
}

TopValue top(int value, std::uint64_t count) {
    return {{static_cast<std::byte>(value)}, count, 0};
}

ValueProfile value(std::uint64_t address, std::uint64_t count, std::vector<TopValue> tops) {
    return {.at = {0, address},
            .operand = "al",
            .width_bytes = 1,
            .count = count,
            .invariance = {},
            .top = std::move(tops),
            .top_tnv = {}};
}

Profile with_values(std::vector<ValueProfile> values) {
    Profile profile = program();
    profile.values = std::move(values);
    return profile;
}

Accuracy measured(const Profile& full, const Profile& sampled, std::size_t most = all) {
    auto accuracy = measure_accuracy(full, sampled, most);
    REQUIRE(accuracy);
    return *accuracy;
}

double sum_of_distances(const AccuracyMetric& metric) {
    return std::accumulate(metric.worst.begin(), metric.worst.end(), 0.0,
                           [](double sum, const AccuracyEntry& e) { return sum + e.distance; });
}

doctest::Approx near(double value) {
    return doctest::Approx(value).epsilon(1e-9);
}

// A profile with something of each kind; `step` shifts all addresses.
Profile with_everything(std::uint64_t step) {
    Profile profile = program();
    for (std::uint64_t i = 1; i <= 40; ++i) {
        const CodeLocation at{0, step + i}, to{0, step + 100};
        profile.edges.push_back({at, to, EdgeKind::jump, 2 * i});
        profile.calls.push_back({at, to, i});
        profile.methods.push_back({at, i, i, std::nullopt});
        profile.paths.push_back({{at, to}, 3, i * i});
        profile.values.push_back(value(step + i, 10 * i, {top(1, 5 * i), top(2, 5 * i)}));
    }
    return profile;
}

}  // namespace

TEST_CASE("a profile agrees with itself") {
    const Profile profile = with_everything(0);
    const Accuracy a = measured(profile, profile);
    for (const AccuracyMetric* metric : {&a.paths, &a.edges, &a.calls, &a.methods}) {
        CHECK(metric->value == near(1));
        CHECK(metric->worst.empty());
    }
    CHECK(a.values.value == 0);
    CHECK(a.values_covered == 1);
    CHECK(a.full_is_exact);
    CHECK(a.notes.empty());
}

TEST_CASE("a profile of the same counts in other places agrees in nothing") {
    const Accuracy a = measured(with_everything(0), with_everything(10'000));
    for (const AccuracyMetric* metric : {&a.paths, &a.edges, &a.calls, &a.methods}) {
        CHECK(*metric->value == doctest::Approx(0));
        CHECK(sum_of_distances(*metric) == near(1));
    }
    CHECK_FALSE(a.values.value);
    CHECK_FALSE(a.values.missing.empty());
    CHECK(a.values_covered == 0);
}

TEST_CASE("edges: half the sum of the differences of relative frequencies, over those of both") {
    // The shares .5 .3 .2 0 and .25 .5 0 .25 differ by .25 .2 .2 .25.
    const Accuracy a = measured(with_edges({{10, 50}, {20, 30}, {30, 20}}),
                                with_edges({{10, 1}, {20, 2}, {40, 1}}));
    CHECK(a.edges.value == near(1 - 0.45));
    CHECK(a.edges.entries == 3);
    REQUIRE(a.edges.worst.size() == 4);
    CHECK(a.edges.worst[0].distance == near(0.125));
    CHECK(a.edges.worst[0].what == "taken");
    CHECK(sum_of_distances(a.edges) == near(0.45));
}

TEST_CASE("edges of different kinds between the same instructions differ") {
    Profile full = with_edges({{10, 50}}), sampled = full;
    sampled.edges[0].kind = EdgeKind::jump;
    CHECK(measured(full, sampled).edges.value == 0);
}

TEST_CASE("paths: the flow of the hottest twentieth that is among as many hottest ones") {
    Rows full, sampled;
    for (std::uint64_t i = 0; i < 60; ++i) full.push_back({i, i < 3 ? 100 - 10 * i : 1});
    // Here the second of the three hottest is only the fourth.
    sampled = {{0, 9}, {2, 8}, {50, 7}, {1, 6}};
    const Accuracy a = measured(with_paths(full), with_paths(sampled));
    CHECK(a.paths.entries == 3);
    CHECK(a.paths.value == near((100.0 + 80) / (100 + 90 + 80)));
    REQUIRE(a.paths.worst.size() == 1);
    CHECK(a.paths.worst[0].at == std::vector<CodeLocation>{{0, 1}, {0, 1}});
    CHECK(a.paths.worst[0].full == near(90.0 / (270 + 57)));
    CHECK(a.paths.worst[0].sampled == near(6.0 / 30));
}

TEST_CASE("paths: of few at least one counts, and what was not seen is not hot") {
    const Accuracy a = measured(with_paths({{1, 5}, {2, 3}}), with_paths({{1, 1}}));
    CHECK(a.paths.entries == 1);
    CHECK(a.paths.value == 1);
    CHECK(measured(with_paths({{1, 5}, {2, 3}}), with_paths({{2, 1}})).paths.value == 0);
}

TEST_CASE("paths are the same by their blocks") {
    Profile full = with_paths({{1, 5}, {1, 5}, {2, 8}}), sampled = with_paths({{1, 4}});
    full.paths[1].instructions = 8;
    CHECK(measured(full, sampled).paths.value == 1);  // 10 of 18
}

TEST_CASE("overlap: the smaller shares of the top entries that make up nine tenths") {
    // The first three make up 90%, so the fourth does not count.
    const Profile full = with_calls({{1, 50}, {2, 30}, {3, 10}, {4, 10}});
    const Accuracy a = measured(full, with_calls({{1, 40}, {2, 40}, {5, 20}}));
    CHECK(a.calls.entries == 3);
    CHECK(a.calls.value == near((0.4 + 0.3) / 0.9));
    REQUIRE(a.calls.worst.size() == 2);
    CHECK(sum_of_distances(a.calls) == near(1 - 0.7 / 0.9));
}

TEST_CASE("methods count by their entries and back-edges") {
    Profile full = program(), sampled = program();
    full.methods = {{{0, 1}, 1, 9, 1000}, {{0, 2}, 10, 0, 5}};
    sampled.methods = {{{0, 1}, 10, 0, 5}, {{0, 2}, 10, 0, 5}};
    const Accuracy a = measured(full, sampled);
    CHECK(a.methods.value == 1);
    CHECK(a.methods.entries == 2);
}

TEST_CASE("values: how far the full profile's top value is off, weighted by executions") {
    const Profile full =
        with_values({value(1, 100, {top(7, 90), top(8, 10)}),
                     value(2, 300, {top(1, 150), top(2, 150)}), value(3, 100, {top(5, 100)})});
    const Profile sampled =
        with_values({value(1, 10, {top(8, 6), top(7, 4)}), value(2, 4, {top(2, 4)})});
    const Accuracy a = measured(full, sampled);
    // .9 and .4 of 100, .5 and 0 of 300; the third is not in both profiles.
    CHECK(a.values.value == near((0.5 * 100 + 0.5 * 300) / 400));
    CHECK(a.values_covered == near(0.8));
    CHECK(a.values.entries == 2);
    REQUIRE(a.values.worst.size() == 2);
    CHECK(a.values.worst[0].at == std::vector<CodeLocation>{{0, 2}});
    CHECK(a.values.worst[0].what == "al");
    CHECK(sum_of_distances(a.values) == near(*a.values.value));
}

TEST_CASE("invariances: the difference of each profile's own, whichever values they are of") {
    Profile full =
        with_values({value(1, 100, {top(7, 90), top(8, 10)}), value(2, 300, {top(1, 9)})});
    Profile sampled = with_values({value(1, 10, {top(8, 6), top(7, 4)}), value(2, 4, {top(3, 1)})});
    full.values[0].invariance = {0.9, 0.9};
    sampled.values[0].invariance = {0.6, 0.2};
    // The second has no invariance, so the certain part of its top value counts.
    full.values[1].compensation = 6;
    const Accuracy a = measured(full, sampled);
    CHECK(a.invariances.value == near((0.3 * 100 + (0.25 - 0.01) * 300) / 400));
    CHECK(a.invariances.entries == 2);
    REQUIRE(a.invariances.worst.size() == 2);
    CHECK(a.invariances.worst[0].full == near(0.01));
    CHECK(a.invariances.worst[0].sampled == near(0.25));
    CHECK(a.values.value != a.invariances.value);
}

TEST_CASE("values: addresses and the stack guard are no values that differ") {
    const auto wide = [](std::uint64_t number, std::uint64_t count) {
        std::vector<std::byte> bytes(8);
        for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
        return TopValue{bytes, count, 0};
    };
    const auto of = [](std::vector<TopValue> tops) {
        auto profile = value(1, 100, std::move(tops));
        profile.operand = "rax";
        profile.width_bytes = 8;
        return with_values({profile});
    };
    constexpr std::uint64_t heap = 0x5606b80bd2a0, guard = 0x9f225573c1182f00;
    const auto full = of({wide(heap, 90), wide(1, 10)});
    const Accuracy other = measured(full, of({wide(guard, 80), wide(1, 20)}));
    CHECK(other.values.value == near(0.1));
    CHECK(other.values_of_the_run == 1);
    CHECK(other.notes.size() == 1);
    // The addresses are the same in both runs, so their shares are compared.
    const Accuracy same = measured(full, of({wide(guard, 80), wide(heap, 20)}));
    CHECK(same.values.value == near(0.7));
    CHECK(same.values_of_the_run == 0);
    CHECK(same.notes.empty());
    // Small, negative and floating-point numbers belong to the program.
    CHECK(measured(full, of({wide(~std::uint64_t{0}, 80)})).values.value == near(0.9));
    CHECK(measured(of({wide(1, 90)}), of({wide(guard, 90)})).values.value == near(0.9));
    auto one = of({wide(0x3ff0000000000000, 90)}), half = of({wide(0x3fe0000000000000, 90)});
    for (Profile* profile : {&one, &half}) profile->values[0].type = {ValueType::Kind::floating, 8};
    CHECK(measured(one, half).values.value == near(0.9));
}

TEST_CASE("floors are what metrics are of another run like the full one") {
    const Profile full = with_calls({{1, 50}, {2, 50}}), sampled = with_calls({{1, 100}});
    Profile again = with_calls({{1, 55}, {2, 45}});
    Accuracy a = measured(full, sampled);
    CHECK_FALSE(a.calls.floor);
    REQUIRE(add_floors(a, full, again));
    CHECK(a.calls.value == near(0.5));
    CHECK(a.calls.floor == near(0.95));
    CHECK_FALSE(a.edges.floor);
    CHECK(a.notes.empty());
    // Notes say what makes floors doubtful.
    again.sampling.exact.reset();
    again.sampling.mode = "shadow";
    again.run.seed = 3;
    Profile seeded = full;
    seeded.run.seed = 3;
    REQUIRE(add_floors(a, seeded, again));
    REQUIRE(a.notes.size() == 2);
    CHECK(a.notes[0].find("mode shadow") != std::string::npos);
    CHECK(a.notes[1].find("same seed") != std::string::npos);
    Profile other = again;
    other.modules = {{"/bin/b", "bb", 10}};
    CHECK_FALSE(add_floors(a, full, other));
}

TEST_CASE("what was asked for and never happened is not what nobody asked for") {
    Profile full = program(), sampled = with_calls({{1, 5}});
    CHECK(measured(full, sampled).calls.missing == "FULL has no calls");
    full.run.options["profiles"] = "edge,call";
    full.sampling.instructions = 5;
    CHECK(measured(full, sampled).calls.missing == "FULL has no calls that were executed");
}

TEST_CASE("operands of different width and instructions without executions are not compared") {
    const Profile full = with_values({value(1, 100, {top(7, 100)})});
    Profile sampled = full;
    sampled.values[0].width_bytes = 2;
    CHECK_FALSE(measured(full, sampled).values.value);
    sampled = with_values({value(1, 0, {top(7, 0)})});
    CHECK_FALSE(measured(full, sampled).values.value);
}

TEST_CASE("modules are the same wherever they are listed") {
    Profile full = with_edges({{10, 5}}), sampled = full;
    sampled.modules = {{"/lib/c", "cc", 1}, {"/elsewhere/a", "aa", 10}};
    sampled.edges[0].from.module = sampled.edges[0].to.module = 1;
    CHECK(measured(full, sampled).edges.value == 1);
    sampled.edges[0].from.module = sampled.edges[0].to.module = 7;  // a module that does not exist
    CHECK(measured(full, sampled).edges.value == 0);
}

TEST_CASE("a kind that one profile lacks is left out, and one without entries counts") {
    const Profile full = with_everything(0);
    Profile sampled = full;
    sampled.calls.clear();
    CHECK_FALSE(measured(full, sampled).calls.value);
    CHECK(measured(full, sampled).calls.missing == "SAMPLED has no calls");
    CHECK(measured(sampled, full).calls.missing == "FULL has no calls");
    sampled.run.options["profiles"] = "edge,call";
    sampled.sampling.instructions = 5;
    CHECK(*measured(full, sampled).calls.value == doctest::Approx(0));
    CHECK(measured(Profile{}, Profile{}).edges.missing == "FULL has no edges");
}

TEST_CASE("nothing is accurate about what was never counted") {
    const Accuracy a = measured(with_edges({{10, 0}}), with_edges({{10, 0}}));
    CHECK(!a.edges.value);
    CHECK(a.edges.missing == "FULL has no edges that were executed");
    CHECK(!measured(with_paths({{10, 0}}), with_paths({{10, 0}})).paths.value);
    CHECK(!measured(with_calls({{10, 0}}), with_calls({{10, 0}})).calls.value);
    Profile counted = program(), by_stacks = program();
    counted.methods = {{{0, 1}, 1, 9, 1000}};
    by_stacks.methods = {{{0, 1}, 0, 0, 1000}};
    CHECK(measured(by_stacks, counted).methods.missing ==
          "FULL has counted no entries and back-edges");
    CHECK(measured(counted, by_stacks).methods.missing ==
          "SAMPLED has counted no entries and back-edges");
    CHECK(measured(counted, counted).methods.value == 1);
}

TEST_CASE("coverage is of what the sampled run executed, or as often of what the full one did") {
    Profile full = with_edges({{10, 5}}), sampled = full;
    sampled.sampling.instructions = 30;
    CHECK_FALSE(measured(full, sampled).coverage);
    full.sampling.target_instructions = 1000;
    CHECK(measured(full, sampled).coverage == near(0.03));
    CHECK(measured(full, sampled).coverage_by_full);
    sampled.run.merged_runs = 3;
    CHECK(measured(full, sampled).coverage == near(0.01));
    sampled.sampling.target_instructions = 300;
    CHECK(measured(full, sampled).coverage == near(0.1));
    CHECK_FALSE(measured(full, sampled).coverage_by_full);
}

TEST_CASE("a full profile that is not exact is noted, with the reason") {
    Profile full = with_edges({{10, 5}});
    const Profile sampled = full;
    full.sampling.exact->diverged = 1;
    CHECK_FALSE(measured(full, sampled).full_is_exact);
    full.sampling.exact.reset();
    full.sampling.mode = "shadow";
    REQUIRE(measured(full, sampled).notes.size() == 1);
    CHECK(measured(full, sampled).notes[0].find("mode shadow") != std::string::npos);
}

TEST_CASE("profiles of different programs are refused") {
    Profile full = with_edges({{10, 5}}), sampled = full;
    sampled.modules = {{"/bin/b", "bb", 10}};
    CHECK_FALSE(measure_accuracy(full, sampled, all));
    // A shared library does not make the programs the same.
    full.modules.push_back({"/lib/c", "cc", 10});
    sampled.modules.push_back({"/lib/c", "cc", 10});
    CHECK(measure_accuracy(full, sampled, all));  // what the programs are is unknown
    full.run.command = {"a"};
    sampled.run.command = {"./b", "x"};
    const auto refused = measure_accuracy(full, sampled, all);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("different programs") != std::string::npos);
    // Pseudo-modules are in all programs.
    full.modules = {{"/bin/a", "aa", 10}, {"[vdso]", "", 0}};
    sampled.modules = {{"/bin/b", "bb", 10}, {"[vdso]", "", 0}};
    full.run.command.clear();
    CHECK_FALSE(measure_accuracy(full, sampled, all));
    sampled.modules.clear();  // without a sample nothing is known
    CHECK(measure_accuracy(full, sampled, all));
}

TEST_CASE("lists of worst entries are as long as asked for, the worst first") {
    const Accuracy a = measured(with_everything(0), with_everything(10'000), 3);
    CHECK(a.edges.worst.size() == 3);
    CHECK(a.edges.worst[0].distance >= a.edges.worst[2].distance);
    CHECK(a.edges.worst[0].full == near(80.0 / 1640));
    CHECK(measured(with_everything(0), with_everything(10'000), 0).edges.worst.empty());
}

TEST_CASE("streams overlap by heat, and are the same where instructions and addresses are") {
    const auto full = with_streams({{0x100, 60}, {0x200, 30}, {0x300, 10}});
    const auto metric = [&](const Rows& rows) {
        return measure_accuracy(full, with_streams(rows), all).value();
    };
    CHECK(*metric({{0x100, 60}, {0x200, 30}, {0x300, 10}}).streams.value == doctest::Approx(1));
    // The top 90% overlap in 50 of 60, and in 30 of 30.
    const auto some = metric({{0x100, 50}, {0x200, 50}});
    CHECK(*some.streams.value == doctest::Approx(80.0 / 90));
    CHECK(some.streams.entries == 2);
    CHECK(some.streams.worst.size() == 1);
    CHECK(some.streams.worst[0].at == std::vector<CodeLocation>{{0, 1}, {0, 2}});
    CHECK(some.notes.empty());
    const auto none = metric({{0x108, 60}});
    CHECK(*none.streams.value == 0);
    CHECK(none.notes.size() == 1);
    CHECK(metric({}).streams.missing == "SAMPLED has no streams");
}

}  // namespace shadowprof::accuracy_test
