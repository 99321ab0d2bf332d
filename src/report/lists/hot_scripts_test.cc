#include "report/lists/hot_scripts.h"

#include <doctest/doctest.h>

namespace shadowprof {
namespace {

// Module 0 is an interpreter, module 1 a script with functions f, g and h.
constexpr CodeLocation f{1, 10}, g{1, 20}, h{1, 30}, eval{0, 0x1000}, helper{0, 0x2000};

Profile profile_of_script() {
    Profile profile;
    profile.modules = {{"/usr/bin/python3"}, {"[python] /x/a.py"}};
    profile.stacks = {{{f, eval}, 100, 1, {}, 10},
                      {{f, g, eval}, 300, 1, {}, 90},
                      {{f, g, f, {0, 0x1100}, helper}, 200, 1, {}, 0},
                      {{h, eval}, 0, 1, {}, 0},
                      {{eval}, 400, 1, {}, 100}};
    return profile;
}

}  // namespace

TEST_CASE("functions of scripts have what was executed for them, and with what they called") {
    const auto list = hot_scripts(profile_of_script(), StackWeight::instructions);
    REQUIRE(list.size() == 2);
    CHECK(list[0].at == f);
    CHECK(list[0].own == 300);
    CHECK(list[0].with_callees == 600);
    CHECK(list[0].own_share == doctest::Approx(0.3));
    CHECK(list[0].share == doctest::Approx(0.6));
    CHECK(list[1].at == g);
    CHECK(list[1].own == 300);
    CHECK(list[1].with_callees == 500);
}

TEST_CASE("functions of scripts are weighed by time, too") {
    const auto list = hot_scripts(profile_of_script(), StackWeight::time);
    REQUIRE(list.size() == 2);
    CHECK(list[0].at == g);
    CHECK(list[0].own == 90);
    CHECK(list[1].own == 10);
    CHECK(list[1].with_callees == 100);
}

TEST_CASE("a profile without scripts has none") {
    Profile profile = profile_of_script();
    profile.modules.pop_back();
    for (Stack& stack : profile.stacks) stack.frames = {eval};
    CHECK(hot_scripts(profile, StackWeight::instructions).empty());
}

}  // namespace shadowprof
