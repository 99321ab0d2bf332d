#include "shadow/schedule/sampling_settings.h"

#include <doctest/doctest.h>

namespace shadowprof::sampling_settings_test {
using Kind = SamplingCommand::Kind;

namespace {

SamplingCommand command(Kind kind, std::string text = "x") {
    return {kind, {}, std::move(text)};
}

BurstOptions bursts_every(std::uint64_t every) {
    BurstOptions bursts;
    bursts.plan.every = every;
    return bursts;
}

}  // namespace

TEST_CASE("sampling is switched off and on, and stopped for good") {
    SamplingSettings settings(std::nullopt);
    CHECK(settings.is_on());
    settings.apply(command(Kind::disable), 1, 1);
    CHECK_FALSE(settings.is_on());
    settings.apply(command(Kind::toggle), 2, 1);
    CHECK(settings.is_on());
    settings.apply(command(Kind::toggle), 3, 1);
    CHECK_FALSE(settings.is_on());
    settings.apply(command(Kind::enable), 4, 1);
    CHECK(settings.is_on());
    CHECK_FALSE(settings.is_stopped());
    settings.apply(command(Kind::stop), 5, 1);
    settings.apply(command(Kind::enable), 6, 1);
    CHECK(settings.is_stopped());
    CHECK_FALSE(settings.is_on());
}

TEST_CASE("a pause ends in the state from before, whatever was switched meanwhile") {
    SamplingSettings settings(std::nullopt);
    CHECK(settings.apply(command(Kind::pause), 1, 1));
    CHECK(settings.is_paused());
    CHECK_FALSE(settings.is_on());
    settings.apply(command(Kind::enable), 2, 1);
    CHECK_FALSE(settings.is_on());
    CHECK(settings.apply(command(Kind::resume), 3, 1));
    CHECK(settings.is_on());
    CHECK_FALSE(settings.apply(command(Kind::resume), 4, 1));
    settings.apply(command(Kind::disable), 5, 1);
    settings.apply(command(Kind::pause), 6, 1);
    settings.apply(command(Kind::resume), 7, 1);
    CHECK_FALSE(settings.is_on());
}

TEST_CASE("what changed is noted, what did not is not") {
    SamplingSettings settings(bursts_every(100));
    settings.apply(command(Kind::enable, "enable"), 1, 5);
    settings.apply(command(Kind::disable, "disable"), 2, 6);
    settings.apply(command(Kind::disable, "disable"), 3, 6);
    settings.apply({Kind::bursts, bursts_every(100), "every 100"}, 4, 7);
    settings.apply({Kind::bursts, bursts_every(50), "every 50"}, 5, 8);
    CHECK(settings.bursts()->plan.every == 50);
    SamplingStats stats;
    settings.fill(stats);
    REQUIRE(stats.changes.size() == 2);
    CHECK(stats.changes[0] == SamplingChange{2, 6, "disable"});
    CHECK(stats.changes[1] == SamplingChange{5, 8, "every 50"});
    CHECK(stats.changes_left_out == 0);
}

TEST_CASE("a run that began without bursts has none later") {
    SamplingSettings settings(std::nullopt);
    settings.apply({Kind::bursts, bursts_every(50), "every 50"}, 5, 8);
    CHECK_FALSE(settings.bursts());
}

TEST_CASE("profiles that are switched off have no bursts, and theirs again when they are on") {
    auto bursts = bursts_every(100);
    bursts.plan.lengths = {{1, 2, 3}};
    bursts.value_length = 4;
    bursts.reference_length = 5;
    const auto all = ProfileKinds().with<HazardList>();
    SamplingSettings settings(bursts, all);
    CHECK(settings.bursts() == bursts);
    SamplingCommand off{Kind::profiles, {}, "profiles path"};
    off.profiles = ProfileKinds::of<PathList>();
    CHECK(settings.apply(off, 1, 1));
    CHECK_FALSE(settings.apply(off, 1, 1));
    CHECK(settings.profiles() == off.profiles);
    CHECK(settings.bursts()->plan.lengths == KindEvents{{0, 2, 0}});
    CHECK(settings.bursts()->value_length == 0);
    CHECK(settings.bursts()->reference_length == 0);
    auto on = off;
    on.profiles = all;
    CHECK(settings.apply(on, 2, 2));
    CHECK(settings.bursts() == bursts);
}

TEST_CASE("a budget and a load are changes where they differ from what commands have set") {
    SamplingSettings settings(std::nullopt);
    for (const auto kind : {Kind::budget, Kind::load}) {
        SamplingCommand change = command(kind);
        change.number = 2;
        CHECK(settings.apply(change, 1, 1));
        CHECK_FALSE(settings.apply(change, 1, 1));
        change.number = 3;
        CHECK(settings.apply(change, 1, 1));
    }
}

TEST_CASE("so many changes as one likes are counted, but the first alone listed") {
    SamplingSettings settings(std::nullopt);
    for (std::size_t i = 0; i < max_sampling_changes + 7; ++i)
        settings.apply(command(Kind::toggle), 1, 1);
    SamplingStats stats;
    settings.fill(stats);
    CHECK(stats.changes.size() == max_sampling_changes);
    CHECK(stats.changes_left_out == 7);
}

}  // namespace shadowprof::sampling_settings_test
