#include "cli/options/burst_values.h"

#include <doctest/doctest.h>

namespace shadowprof::burst_values_test {

TEST_CASE("--every is a number and which events it is of") {
    struct Row {
        const char* text;
        std::uint64_t every;
        EventKinds events;
    };
    for (const Row& row :
         {Row{"1", 1, {true, true}}, Row{"10k", 10'000, {true, true}},
          Row{"500calls", 500, {true, false}}, Row{"1.5kbackedges", 1500, {false, true}},
          Row{"1Mcalls+backedges", 1'000'000, {true, true}}}) {
        CAPTURE(row.text);
        const auto value = parse_every(row.text);
        REQUIRE(value);
        CHECK(value->every == row.every);
        CHECK(value->events == row.events);
        CHECK(value->own.empty());
    }
    for (const char* text : {"", "0", "-1", "calls", "10 calls", "10calls+calls",
                             "10backedges+calls", "10insns", "2000G", "0x10", "1e3", "10,20", "10,",
                             "value", "10,values:5", "value:0", "value:5calls"}) {
        CAPTURE(text);
        const auto value = parse_every(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().code == ErrorCode::usage);
        CHECK(value.error().message.find("1kcalls+backedges") != std::string::npos);
    }
}

TEST_CASE("--every has numbers for single kinds, too") {
    auto value = parse_every("value:50k,1kcalls,path:7").value();
    CHECK(value.every == 1000);
    REQUIRE(value.own.size() == 2);
    CHECK(value.own[0].kind == BurstedKind::value);
    CHECK(value.own[0].events == 50'000);
    value.add(parse_every("stream:9").value());
    CHECK(value.every == 1000);
    CHECK(value.events == EventKinds{true, false});
    CHECK(value.own.size() == 3);
    const auto collected = ProfileKinds().with<StreamList>();
    const auto bursts = bursts_of(value, collected);
    REQUIRE(bursts);
    CHECK(bursts->between_values() == 50'000);
    CHECK(bursts->between_references() == 9);
    CHECK(bursts->plan.own_every == KindEvents{{0, 7, 0}});
    CHECK(every_text(*bursts, collected) == "1000calls,path:7,value:50000,stream:9");
    CHECK_FALSE(bursts_of(value, {}));
    CHECK(bursts_of(parse_every("value:5").value(), {}).error().message.find("1000,value:50k") !=
          std::string::npos);
}

TEST_CASE("--burst-length is a list of kinds with numbers") {
    const auto lengths = parse_burst_lengths("edge:1,path:2k,value:3,call:4,edge:5");
    REQUIRE(lengths);
    REQUIRE(lengths->size() == 5);
    CHECK((*lengths)[1].kind == BurstedKind::path);
    CHECK((*lengths)[1].events == 2000);
    CHECK((*lengths)[4].kind == BurstedKind::edge);
    for (const char* text : {"", "edge", "edge:", ":5", "edges:5", "method:1", "edge:1,", "edge=5",
                             "edge:1:2", "edge:-1", "edge:2000G"}) {
        CAPTURE(text);
        const auto value = parse_burst_lengths(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().code == ErrorCode::usage);
        CHECK(value.error().message.find("path:50") != std::string::npos);
    }
}

TEST_CASE("kinds that are collected have lengths, others do not and cannot get any") {
    const auto no_paths = ProfileKinds().without<PathList>();
    auto bursts = bursts_of({1000, {true, false}, {}}, no_paths).value();
    CHECK(bursts.plan.every == 1000);
    CHECK(bursts.plan.lengths == KindEvents{{1, 0, 1}});
    CHECK(bursts.value_length > 0);
    REQUIRE(set_length(bursts, {BurstedKind::edge, 7}, no_paths));
    REQUIRE(set_length(bursts, {BurstedKind::value, 9}, no_paths));
    const auto refused = set_length(bursts, {BurstedKind::path, 9}, no_paths);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("path") != std::string::npos);
    CHECK(lengths_text(bursts, no_paths) == "edge:7,call:1,value:9");
    CHECK(bursts.plan.lengths[BurstKind::edge] == 7);
    CHECK(bursts.value_length == 9);
    CHECK_FALSE(set_length(bursts, {BurstedKind::hazard, 30}, no_paths));
}

TEST_CASE("hazards and streams have the same bursts") {
    const auto of = [](const ProfileKinds& kinds) {
        return bursts_of({1000, {}, {}}, kinds).value();
    };
    const auto hazards = ProfileKinds::of<EdgeList, CallList, HazardList>();
    auto bursts = of(hazards);
    REQUIRE(set_length(bursts, {BurstedKind::hazard, 30}, hazards));
    CHECK(bursts.reference_length == 30);
    REQUIRE(set_length(bursts, {BurstedKind::stream, 40}, hazards));
    CHECK(bursts.reference_length == 40);
    CHECK(of(ProfileKinds().with<StreamList>()).reference_length == 1000);
    CHECK(of(ProfileKinds().with<HazardList, StreamList>()).reference_length == 1000);
    CHECK(lengths_text(of(ProfileKinds().with<HazardList>()), ProfileKinds().with<HazardList>()) ==
          "edge:1,path:1,call:1,value:10,hazard:100");
}

}  // namespace shadowprof::burst_values_test
