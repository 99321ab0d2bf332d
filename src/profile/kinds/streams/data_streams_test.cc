// Streams of sequences whose truth is known, cut into bursts in many ways.
#include "profile/kinds/streams/data_streams.h"

#include <doctest/doctest.h>

#include <map>

#include "profile/collect/process_profile.h"
#include "profile/collect/test_traces.h"

namespace shadowprof::data_streams_test {
namespace {

using namespace testing;

constexpr CodeLocation place{0, 0x1000};

void take(DataStreams& streams, std::uint64_t address) {
    streams.take({.address = address, .bytes = 8}, place);
}

// The streams of `address(i)` for each i below `count`, with a break before each multiple of
// `burst`.
template <typename Address>
std::vector<DataStream> streams_of(std::uint64_t count, Address address, std::uint64_t burst = 0,
                                   StreamLimits limits = {}, std::uint64_t min_heat = 1) {
    DataStreams streams(limits);
    for (std::uint64_t i = 0; i < count; ++i) {
        if (burst != 0 && i % burst == 0) streams.begin_burst();
        take(streams, address(i));
    }
    streams.finish();
    CHECK(streams.references() == count);
    StreamTable table = streams.table();
    return table.take_streams(min_heat);
}

std::vector<std::uint64_t> addresses(const DataStream& stream) {
    std::vector<std::uint64_t> list;
    for (const auto& reference : stream.references) list.push_back(reference.address);
    return list;
}

// The address of node i; nodes lie anywhere.
std::uint64_t node(std::uint64_t i) {
    return 0x100000 + (mix64(i) & 0xfff8);
}

// Checks that the stream consists of `period` successive nodes, from any one on.
void check_is_cycle(const DataStream& stream, std::uint64_t period) {
    const auto list = addresses(stream);
    REQUIRE(list.size() == period);
    std::uint64_t first = 0;
    while (first < period && node(first) != list[0]) ++first;
    for (std::uint64_t i = 0; i < period; ++i) CHECK(list[i] == node((first + i) % period));
}

}  // namespace

TEST_CASE("a loop over scattered nodes is one stream, its occurrences are its iterations") {
    for (const std::uint64_t period : {2u, 3u, 7u, 20u, 50u, 99u, 100u}) {
        CAPTURE(period);
        const std::uint64_t iterations = 1000;
        const auto found =
            streams_of(period * iterations, [&](std::uint64_t i) { return node(i % period); });
        REQUIRE(!found.empty());
        check_is_cycle(found[0], period);
        CHECK(found[0].occurrences >= iterations - 4);
        CHECK(found[0].occurrences <= iterations);
    }
}

TEST_CASE("a loop is the same stream in bursts that begin anywhere") {
    constexpr std::uint64_t period = 50, count = 200'000;
    const auto loop = [](std::uint64_t i) { return node(i % period); };
    const auto whole = streams_of(count, loop);
    for (const std::uint64_t burst : {501u, 1003u, 4999u, 33'333u}) {
        CAPTURE(burst);
        const auto cut = streams_of(count, loop, burst);
        REQUIRE(!cut.empty());
        CHECK(cut[0].references == whole[0].references);
        // Each burst loses at most what is before its first and behind its last cut, and what the
        // grammar has no rule for.
        CHECK(cut[0].heat() + (count / burst + 1) * 5 * period >= count);
    }
}

TEST_CASE("a loop that is too long for a stream is cut into streams that are not") {
    const auto found = streams_of(300 * 500, [](std::uint64_t i) { return node(i % 300); });
    std::uint64_t heat = 0;
    for (const auto& stream : found) {
        CHECK(stream.references.size() <= 100);
        heat += stream.heat();
    }
    CHECK(heat >= 300 * 490);
    CHECK(heat <= 300 * 500);
    CHECK(found.size() > 3);
}

TEST_CASE("one address over and over is no stream, nor is what never repeats") {
    CHECK(streams_of(10'000, [](std::uint64_t) { return std::uint64_t{0x5000}; }).empty());
    const auto never = streams_of(
        100'000, [](std::uint64_t i) { return 8 * i; }, 0, {}, 100);
    CHECK(never.empty());
}

TEST_CASE("what stands between changing references is found") {
    // Two phrases, each after a reference that does not repeat.
    const auto found = streams_of(
        40 * 2000,
        [](std::uint64_t i) {
            const auto at = i % 40, round = i / 40;
            return at == 0 ? 0x10000000 + 64 * round : node((round % 2) * 100 + at);
        },
        0, {}, 1000);
    std::map<std::uint64_t, std::uint64_t> seen;
    std::uint64_t heat = 0;
    for (const auto& stream : found) {
        heat += stream.heat();
        for (const auto address : addresses(stream)) seen[address] += stream.occurrences;
    }
    // Cuts depend on the surroundings. Nothing is counted twice.
    for (const auto& [address, occurrences] : seen) CHECK(occurrences <= 1000);
    CHECK(heat > 40 * 2000 * 7 / 10);
    CHECK(heat <= 39 * 2000);
}

TEST_CASE("limits of length hold") {
    const auto loop = [](std::uint64_t i) { return node(i % 50); };
    for (const auto& stream : streams_of(100'000, loop, 0, {.max_length = 20}))
        CHECK(stream.references.size() <= 20);
    for (const auto& stream : streams_of(100'000, loop, 0, {.min_length = 10, .max_length = 20}))
        CHECK(stream.references.size() >= 10);
    CHECK(streams_of(100'000, loop, 0, {.min_length = 51, .max_length = 60}).empty());
}

TEST_CASE("weights multiply") {
    const auto heat = [](std::uint64_t weight) {
        DataStreams streams(StreamLimits{});
        for (const std::uint64_t w : {std::uint64_t{1}, weight}) {
            streams.set_weight(w);
            for (std::uint64_t i = 0; i < 5000; ++i) take(streams, node(i % 50));
        }
        streams.finish();
        CHECK(streams.references() == 5000 * (1 + weight));
        StreamTable table = streams.table();
        return table.take_streams(1).at(0).heat();
    };
    CHECK(heat(2) > 0);
    CHECK(4 * heat(2) == 3 * heat(3));
}

TEST_CASE("a grammar that is full loses nothing but its ends") {
    // More different pieces than several grammars hold, and a loop among them.
    constexpr std::uint64_t count = 6 * DataStreams::max_references;
    const auto mixed = [](std::uint64_t i) {
        const bool in_loop = i / 5000 % 2 == 0;
        return in_loop ? node(i % 50) : 0x40000000 + 8 * (mix64(i) >> 20);
    };
    const auto found = streams_of(count, mixed, 0, {}, count / 1000);
    REQUIRE(found.size() >= 1);
    check_is_cycle(found[0], 50);
    CHECK(found[0].heat() > count * 45 / 100);
    CHECK(found[0].heat() < count * 50 / 100 + 5000);
}

TEST_CASE("references of a trace become streams of the profile, with their share known") {
    TestRun run({.streams = StreamLimits{.min_heat_percent = 1}});
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto loop = program.with_references(plain, {{.instruction_offset = 0,
                                                       .instruction = 0,
                                                       .words = 1,
                                                       .flags = ReferenceSlot::load,
                                                       .bytes = 8,
                                                       .address_registers = 8}});
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < 10'000; ++i) words.insert(words.end(), {loop, node(i % 20)});
    run.sample(program, words);
    const auto profile = run.result();
    REQUIRE(profile.streams.size() == 1);
    check_is_cycle(profile.streams[0], 20);
    CHECK(profile.streams[0].references[0].at == at(0x1000));
    CHECK(profile.streams[0].heat() > 9800);
    CHECK(profile.sampling.counters.at("stream_references") == 10'000);
    CHECK(profile.hazards.empty());
    CHECK(profile.addresses.empty());
    // Filling a profile again gives the same.
    CHECK(run.result().streams == profile.streams);
}

}  // namespace shadowprof::data_streams_test
