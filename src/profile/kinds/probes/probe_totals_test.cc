#include "profile/kinds/probes/probe_totals.h"

#include <doctest/doctest.h>

#include "profile/merge/join.h"

namespace shadowprof::probe_totals_test {
namespace {

std::vector<Probe> probes(const std::vector<std::string>& texts) {
    auto set = ProbeSet::parse(texts);
    REQUIRE_MESSAGE(set.has_value(), set.error().message);
    return set->probes();
}

ProbeProfile only(const ProbeTotals& totals) {
    auto all = totals.profiles();
    REQUIRE(all.size() == 1);
    return all[0];
}

bool is(const ProbeDatum& datum, std::uint64_t number) {
    return datum == ProbeDatum(number);
}
bool is(const ProbeDatum& datum, CodeLocation location) {
    return datum == ProbeDatum(location);
}

constexpr CodeLocation here{0, 0x10}, there{1, 0x10};

}  // namespace

TEST_CASE("counts and sums are kept by key, the hottest first") {
    ProbeTotals totals(probes({"true { count() by at }", "true { sum(int32(eax)) by rbx }"}), 1);
    totals.add(0, {}, here);
    totals.add(0, {}, there, 3);
    totals.add(0, {}, here);
    totals.add(1, std::uint64_t{5}, std::uint64_t{1});
    totals.add(1, ~std::uint64_t{6}, std::uint64_t{1});
    totals.add(1, ~std::uint64_t{0}, std::uint64_t{2}, 10);
    const auto all = totals.profiles();
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "probe1");
    CHECK(all[0].hits == 5);
    CHECK(all[0].key == ProbeDatumKind::location);
    REQUIRE(all[0].entries.size() == 2);
    CHECK(is(all[0].entries[0].key, there));
    CHECK(all[0].entries[0].count == 3);
    CHECK(all[0].entries[1].count == 2);
    CHECK(all[1].value == ProbeDatumKind::signed_number);
    REQUIRE(all[1].entries.size() == 2);
    CHECK(is(all[1].entries[0].key, std::uint64_t{1}));
    CHECK(bool(all[1].entries[0].sum == -2));
    CHECK(bool(all[1].entries[1].sum == -10));
    CHECK(all[1].entries[1].count == 10);
}

TEST_CASE("sums of addresses do not wrap around") {
    ProbeTotals totals(probes({"true { sum(rax) }"}), 1);
    for (int i = 0; i < 4; ++i) totals.add(0, ~std::uint64_t{0}, {}, 2);
    CHECK(bool(only(totals).entries.at(0).sum == 8 * ProbeSum{~std::uint64_t{0}}));
}

TEST_CASE("histograms are of powers of two") {
    CHECK(bucket_of(0, false) == 0);
    CHECK(bucket_of(1, false) == 1);
    CHECK(bucket_of(7, false) == 3);
    CHECK(bucket_of(8, true) == 4);
    CHECK(bucket_of(~std::uint64_t{0}, false) == 64);
    CHECK(bucket_of(~std::uint64_t{0}, true) == -1);
    CHECK(bucket_of(std::uint64_t{1} << 63, true) == -64);

    ProbeTotals totals(probes({"true { histogram(int64(rax)) }"}), 1);
    for (const std::int64_t value : {3, 2, -5, 100, 2})
        totals.add(0, static_cast<std::uint64_t>(value), {});
    const auto probe = only(totals);
    REQUIRE(probe.entries.size() == 1);
    const ProbeEntry& entry = probe.entries[0];
    CHECK(entry.histogram == ProbeHistogram{{-3, 1}, {2, 3}, {7, 1}});
    CHECK(static_cast<std::int64_t>(entry.least) == -5);
    CHECK(entry.most == 100);
    CHECK(bool(entry.sum == 102));
    CHECK(entry.count == 5);
}

TEST_CASE("hotlists name the most frequent values, numbers and places") {
    ProbeTotals totals(probes({"true { hotlist(rax) }", "writes { hotlist(at) by rax }"}), 1);
    for (std::uint64_t i = 0; i < 1000; ++i) totals.add(0, i % 10 == 0 ? i : 7, {});
    totals.add(1, here, std::uint64_t{64}, 2);
    totals.add(1, there, std::uint64_t{64}, 5);
    const auto all = totals.profiles();
    const ProbeEntry& values = all[0].entries.at(0);
    CHECK(values.count == 1000);
    CHECK(is(values.top.at(0).value, std::uint64_t{7}));
    CHECK(static_cast<double>(values.top[0].count) ==
          doctest::Approx(900).epsilon((values.top[0].error + 1) / 900));
    CHECK(values.top.size() <= CountingSample<std::uint64_t>::capacity);
    CHECK(values.absent_error > 0);
    const ProbeEntry& line = all[1].entries.at(0);
    REQUIRE(line.top.size() == 2);
    CHECK(is(line.top[0].value, there));
    CHECK(line.top[0].count == 5);
    CHECK(line.top[0].error == 0);
    CHECK(is(line.top[1].value, here));
}

TEST_CASE("what was missed and what there is no room for is counted") {
    ProbeTotals totals(probes({"true { count() by rax }", "true { hotlist(rbx) by rax }"}), 1);
    totals.add_missed(0, 4);
    const auto keys = ProbeTotals::max_keys + 10;
    for (std::uint64_t key = 0; key < keys; ++key) totals.add(0, {}, key);
    totals.add(0, {}, std::uint64_t{3});
    for (std::uint64_t key = 0; key <= ProbeTotals::max_hotlists; ++key) totals.add(1, key, key);
    const auto all = totals.profiles();
    CHECK(all[0].missed == 4);
    CHECK(all[0].hits == keys + 1);
    CHECK(all[0].left_out == 10);
    CHECK(all[0].entries.size() == ProbeTotals::max_keys);
    CHECK(is(all[0].entries[0].key, std::uint64_t{3}));
    CHECK(all[1].left_out == 1);
    const auto notes = totals.notes();
    REQUIRE(notes.size() == 2);
    CHECK(notes[0] ==
          "probe 'probe1': 10 of 65547 events were left out, as there were too many keys");
}

TEST_CASE("events that no probe can have change nothing but what was missed") {
    ProbeTotals totals(probes({"true { sum(rax) by at }"}), 1);
    totals.add(1, {}, {});
    totals.add_missed(7);
    totals.add(0, std::uint64_t{1}, std::uint64_t{1});
    totals.add(0, here, here);
    totals.add(0, {}, {}, 2);
    CHECK(only(totals).missed == 4);
    CHECK(only(totals).hits == 0);
    CHECK(only(totals).entries.empty());
}

TEST_CASE("what two collectors saw adds up") {
    const auto asked = probes({"true { histogram(rax) by rbx }"});
    ProbeTotals a(asked, 1), b(asked, 2), both(asked, 3);
    for (std::uint64_t i = 0; i < 100; ++i) {
        (i % 3 == 0 ? a : b).add(0, i, i % 4, i);
        both.add(0, i, i % 4, i);
    }
    a.add_missed(0);
    both.add_missed(0);
    auto sum = a.profiles(), more = b.profiles();
    sum.insert(sum.end(), more.begin(), more.end());
    join_and_sort(sum);
    CHECK(bool(sum == both.profiles()));
}

}  // namespace shadowprof::probe_totals_test
