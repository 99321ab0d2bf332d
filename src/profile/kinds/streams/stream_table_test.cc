#include "profile/kinds/streams/stream_table.h"

#include <doctest/doctest.h>

#include <numeric>

namespace shadowprof::stream_table_test {
namespace {

using References = std::vector<DataReference>;
using Cuts = std::vector<std::uint8_t>;

// References of one instruction to these addresses.
References at(const std::vector<std::uint64_t>& addresses) {
    References references;
    for (const auto address : addresses) references.push_back({{0, 0x1000}, address});
    return references;
}

DataStream stream(const std::vector<std::uint64_t>& addresses, std::uint64_t occurrences) {
    return {at(addresses), occurrences};
}

std::uint64_t heat(const std::vector<DataStream>& streams) {
    return std::accumulate(streams.begin(), streams.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const DataStream& s) { return sum + s.heat(); });
}

}  // namespace

TEST_CASE("what is hot enough is a stream as it is") {
    StreamTable table({.min_length = 2, .max_length = 4});
    table.add(at({1, 2, 3, 4}), Cuts{4, 0, 1, 0}, 5);
    table.add(at({1, 2, 3, 4}), Cuts{4, 0, 1, 0}, 5);
    table.add(at({7, 8}), Cuts{4, 0}, 25);
    table.add(at({9}), Cuts{4}, 1000);
    CHECK(table.take_streams(40) == std::vector{stream({7, 8}, 25), stream({1, 2, 3, 4}, 10)});
}

TEST_CASE("what is too cold is cut at its highest cuts, and its parts add up") {
    StreamTable table({.min_length = 2, .max_length = 10});
    table.add(at({1, 2, 3, 4, 5}), Cuts{4, 1, 2, 0, 0}, 3);
    table.add(at({6, 7, 3, 4, 5}), Cuts{4, 0, 2, 0, 0}, 4);
    // 1, 2 is cut again, into nothing; 6, 7 is not hot.
    CHECK(table.take_streams(21) == std::vector{stream({3, 4, 5}, 7)});
}

TEST_CASE("what is too long is cut however hot it is") {
    StreamTable table({.min_length = 2, .max_length = 3});
    table.add(at({1, 2, 3, 4, 5}), Cuts{4, 0, 3, 0, 0}, 100);
    CHECK(table.take_streams(1) == std::vector{stream({3, 4, 5}, 100), stream({1, 2}, 100)});
}

TEST_CASE("a part that is hot by itself counts no occurrence twice") {
    StreamTable table({.min_length = 2, .max_length = 10});
    table.add(at({1, 2, 3, 4}), Cuts{4, 0, 2, 0}, 50);
    table.add(at({1, 2, 8, 9}), Cuts{4, 0, 2, 0}, 1);
    table.add(at({1, 2}), Cuts{4, 0}, 30);
    CHECK(table.take_streams(60) == std::vector{stream({1, 2, 3, 4}, 50), stream({1, 2}, 31)});
}

TEST_CASE("what is rare is cut however hot it is") {
    StreamTable table({.min_length = 2, .max_length = 10});
    table.add(at({1, 2, 3, 4}), Cuts{4, 0, 2, 0}, 3);
    table.add(at({1, 2, 5, 6}), Cuts{4, 0, 2, 0}, 2);
    CHECK(table.take_streams(1, 5) == std::vector{stream({1, 2}, 5)});
}

TEST_CASE("tables add up") {
    StreamTable a(StreamLimits{}), b(StreamLimits{});
    a.add(at({1, 2}), Cuts{4, 0}, 2);
    b.add(at({1, 2}), Cuts{4, 0}, 3);
    b.add(at({3, 4}), Cuts{4, 0}, 1);
    a.add(b);
    CHECK(a.take_streams(1) == std::vector{stream({1, 2}, 5), stream({3, 4}, 1)});
}

TEST_CASE("streams at other instructions or in other modules are others") {
    StreamTable table(StreamLimits{});
    for (const CodeLocation place : {CodeLocation{0, 1}, CodeLocation{0, 2}, CodeLocation{1, 1}})
        table.add(References{{place, 8}, {place, 16}}, Cuts{4, 0}, 1);
    CHECK(table.take_streams(1).size() == 3);
}

TEST_CASE("space is bounded, and hot streams outlive many cold ones") {
    StreamTable table(StreamLimits{});
    std::uint64_t cold = 0;
    for (std::uint64_t i = 0; i < 20 * StreamTable::max_candidates; ++i) {
        // Half of each sequence is always the same.
        table.add(at({1, 2, i + 100, ~i}), Cuts{4, 0, 2, 0}, 1);
        if (i % 100 == 0) table.add(at({3, 4}), Cuts{4, 0}, 1);
        cold += 2;
    }
    const auto left_out = table.left_out();
    CHECK(left_out > 0);
    const auto all = table.take_streams(1);
    CHECK(all.size() <= StreamTable::max_candidates + 1);
    // All losses are reported.
    CHECK(heat(all) + left_out == 2 * cold + 2 * 20 * StreamTable::max_candidates / 100 + 2);
    StreamTable again(StreamLimits{});
    for (const auto& s : all) again.add(s.references, Cuts(s.references.size()), s.occurrences);
    const auto hot = again.take_streams(100);
    REQUIRE(hot.size() == 2);
    CHECK(hot[0].references == at({1, 2}));
    CHECK(hot[0].heat() > 0.9 * static_cast<double>(cold));
    CHECK(hot[1] == stream({3, 4}, 20 * StreamTable::max_candidates / 100 + 1));
}

}  // namespace shadowprof::stream_table_test
