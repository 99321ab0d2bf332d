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

TEST_CASE("there is no room for more than so many, and a note says so") {
    SystemCallTotals totals;
    for (std::uint64_t i = 0; i < SystemCallTotals::max_entries + 5; ++i)
        totals.add({0, i}, read, {}, 1);
    totals.add({0, 7}, read, {}, 1);
    const auto profile = filled(totals);
    CHECK(profile.system_calls.size() == SystemCallTotals::max_entries);
    CHECK(profile.system_calls[0] == SystemCall{{0, 7}, "read", {}, 2});
    REQUIRE(profile.notes.size() == 1);
    CHECK(profile.notes[0].starts_with("5 system calls are left out"));
    CHECK(profile.sampling.counters.at("system_calls_left_out") == 5);
    CHECK(filled(SystemCallTotals{}).notes.empty());
}

}  // namespace shadowprof::system_call_totals_test
