#include "profile/kinds/system_calls/system_call_totals.h"

#include <doctest/doctest.h>

namespace shadowprof::system_call_totals_test {

constexpr CodeLocation wrapper{0, 0x100}, other{0, 0x200};
const std::vector<CodeLocation> main_alone{{1, 0x10}}, deeper{{1, 0x20}, {1, 0x10}};
constexpr std::uint64_t read = 0, write = 1;

Profile filled(const SystemCallTotals& totals, const CountScale& scale = {}) {
    Profile profile;
    totals.fill(profile, scale);
    return profile;
}

TEST_CASE("calls are told apart by place, number and callers") {
    SystemCallTotals totals;
    for (int i = 0; i < 3; ++i) totals.add(wrapper, read, main_alone, 1);
    totals.add(wrapper, write, main_alone, 1);
    totals.add(wrapper, read, deeper, 2);
    totals.add(other, read, main_alone, 1);
    const auto calls = filled(totals).system_calls;
    REQUIRE(calls.size() == 4);
    CHECK(calls[0] == SystemCall{wrapper, "read", main_alone, 3});
    CHECK(calls[1] == SystemCall{wrapper, "read", deeper, 2});
    CHECK(calls[2] == SystemCall{wrapper, "write", main_alone, 1});
    CHECK(calls[3] == SystemCall{other, "read", main_alone, 1});
}

TEST_CASE("what several emulators saw is added up and scaled") {
    SystemCallTotals one, two;
    one.add(wrapper, read, main_alone, 10);
    two.add(wrapper, read, main_alone, 30);
    two.add(wrapper, 12345, {}, 4);
    one.add(two);
    const auto calls = filled(one, {.instructions = 1, .weighted = 10}).system_calls;
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].count == 4);
    CHECK(calls[1] == SystemCall{wrapper, "syscall_12345", {}, 1});
}

TEST_CASE("failures and bytes are those of the calls that returned") {
    SystemCallTotals totals;
    auto* const reads = totals.add(wrapper, read, main_alone, 1);
    auto* const processes = totals.add(wrapper, 39, main_alone, 1);
    REQUIRE(reads);
    REQUIRE(processes);
    CHECK(totals.add(wrapper, read, main_alone, 1) == reads);
    totals.add_result(*reads, read, 1000, 1);
    totals.add_result(*reads, read, std::uint64_t(-9), 1);
    totals.add_result(*processes, 39, 4711, 1);
    SystemCallTotals more;
    more.add_result(*more.add(wrapper, read, main_alone, 1), read, 24, 1);
    totals.add(more);
    const auto calls = filled(totals).system_calls;
    REQUIRE(calls.size() == 2);
    CHECK(calls[0] == SystemCall{wrapper, "read", main_alone, 3, 1, 1024});
    CHECK(calls[1] == SystemCall{wrapper, "getpid", main_alone, 1, 0, std::nullopt});
}

TEST_CASE("without results, neither failures nor bytes are known") {
    SystemCallTotals totals;
    totals.add(wrapper, read, main_alone, 1);
    const auto calls = filled(totals).system_calls;
    REQUIRE(calls.size() == 1);
    CHECK_FALSE(calls[0].failed);
    CHECK_FALSE(calls[0].bytes);
}

TEST_CASE("a call transfers no more than the kernel lets it") {
    SystemCallTotals totals;
    auto* const writes = totals.add(wrapper, write, {}, 1);
    totals.add_result(*writes, write, std::uint64_t{1} << 62, 1);
    CHECK(filled(totals).system_calls[0].bytes == 0x7ffff000);
}

TEST_CASE("a sum knows what both of its parts know") {
    SystemCall known{wrapper, "read", {}, 2, 1, 100}, more{wrapper, "read", {}, 3, 0, 50};
    add(known, more);
    CHECK(known == SystemCall{wrapper, "read", {}, 5, 1, 150});
    add(known, SystemCall{wrapper, "read", {}, 1});
    CHECK(known == SystemCall{wrapper, "read", {}, 6});
    SystemCall later{wrapper, "read", {}, 9, 4, 500};
    subtract(later, SystemCall{wrapper, "read", {}, 5, 1, 150});
    CHECK(later == SystemCall{wrapper, "read", {}, 4, 3, 350});
}

TEST_CASE("there is no room for more than so many, and a note says so") {
    constexpr auto max_entries = BoundedTotals<int, SystemCallTotals::Entry>::max_entries;
    SystemCallTotals totals;
    for (std::uint64_t i = 0; i < max_entries + 5; ++i) totals.add({0, i}, read, {}, 1);
    totals.add({0, 7}, read, {}, 1);
    const auto profile = filled(totals);
    CHECK(profile.system_calls.size() == max_entries);
    CHECK(profile.system_calls[0] == SystemCall{{0, 7}, "read", {}, 2});
    REQUIRE(profile.notes.size() == 1);
    CHECK(profile.notes[0].starts_with("5 system calls are left out"));
    CHECK(profile.sampling.counters.at("system_calls_left_out") == 5);
    CHECK(filled(SystemCallTotals{}).notes.empty());
    CHECK(totals.add({1, 0}, read, {}, 1) == nullptr);
}

}  // namespace shadowprof::system_call_totals_test
