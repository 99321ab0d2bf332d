#include "cli/burst_values.h"

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
    }
    for (const char* text : {"", "0", "-1", "calls", "10 calls", "10calls+calls",
                             "10backedges+calls", "10insns", "2000G", "0x10", "1e3", "10,20"}) {
        CAPTURE(text);
        const auto value = parse_every(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().code == ErrorCode::usage);
        CHECK(value.error().message.find("1kcalls+backedges") != std::string::npos);
    }
}

TEST_CASE("--burst-length is a list of kinds with numbers") {
    const auto lengths = parse_burst_lengths("edge:1,path:2k,value:3,call:4,edge:5");
    REQUIRE(lengths);
    REQUIRE(lengths->size() == 5);
    CHECK((*lengths)[1].kind == LengthKind::path);
    CHECK((*lengths)[1].events == 2000);
    CHECK((*lengths)[4].kind == LengthKind::edge);
    for (const char* text : {"", "edge", "edge:", "edge:0", ":5", "edges:5", "method:1", "edge:1,",
                             "edge=5", "edge:1:2", "edge:-1", "edge:2000G"}) {
        CAPTURE(text);
        const auto value = parse_burst_lengths(text);
        REQUIRE_FALSE(value);
        CHECK(value.error().code == ErrorCode::usage);
        CHECK(value.error().message.find("path:50") != std::string::npos);
    }
}

TEST_CASE("kinds that are collected have lengths, others do not and cannot get any") {
    auto bursts = bursts_of({1000, {true, false}}, {.edges = true, .paths = false});
    CHECK(bursts.plan.every == 1000);
    CHECK(length_of(bursts, LengthKind::edge) == 1);
    CHECK(length_of(bursts, LengthKind::path) == 0);
    CHECK(length_of(bursts, LengthKind::value) > 0);
    REQUIRE(set_length(bursts, {LengthKind::edge, 7}));
    REQUIRE(set_length(bursts, {LengthKind::value, 9}));
    const auto refused = set_length(bursts, {LengthKind::path, 9});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("path") != std::string::npos);
    CHECK(lengths_text(bursts) == "edge:7,call:1,value:9");
    CHECK(bursts.plan.lengths[BurstKind::edge] == 7);
    CHECK(bursts.value_length == 9);
    auto hazards = bursts_of({1000, {}}, {.paths = false, .values = false, .hazards = true});
    REQUIRE(set_length(hazards, {LengthKind::hazard, 30}));
    CHECK(hazards.reference_length == 30);
    CHECK(bursts_of({1000, {}}, {.streams = true}).reference_length == 1000);
    CHECK_FALSE(set_length(bursts, {LengthKind::hazard, 30}));
}

}  // namespace shadowprof::burst_values_test
