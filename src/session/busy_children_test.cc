#include "session/busy_children.h"

#include <doctest/doctest.h>

namespace shadowprof::busy_children_test {
namespace {

using Uses = std::vector<ProcessUse>;

const ProcessUse waiting{10, "nginx", 0.004};

}  // namespace

TEST_CASE("children that run while their parent waits are named, the busiest first") {
    const auto note =
        note_of_busy_children(waiting, Uses{{11, "worker", 0.2}, {12, "logger", 0.5}});
    REQUIRE(note);
    CHECK(*note ==
          "process 10 (nginx) ran for 0.4% of the time, and 2 processes that descend from it for "
          "more: 12 (logger) 50.0%, 11 (worker) 20.0%; to profile them, use 'shadowprof attach "
          "--children 10', or 'shadowprof attach 12' for the busiest");
}

TEST_CASE("of many children only the busiest are named, and the others counted") {
    Uses many;
    for (pid_t pid = 20; pid < 30; ++pid) many.push_back({pid, "worker", 0.01 * pid});
    const auto note = note_of_busy_children(waiting, many);
    REQUIRE(note);
    CHECK(note->find("10 processes that descend") != note->npos);
    CHECK(note->find("29 (worker) 29.0%, 28 (worker) 28.0%, 27 (worker) 27.0%, 7 more;") !=
          note->npos);
}

TEST_CASE("nothing is said of a parent that runs itself, nor of children that wait, too") {
    CHECK_FALSE(note_of_busy_children({10, "make", 0.02}, Uses{{11, "cc", 0.9}}));
    CHECK_FALSE(note_of_busy_children(waiting, Uses{{11, "worker", 0.009}}));
    CHECK_FALSE(note_of_busy_children(waiting, Uses{}));
    const auto note = note_of_busy_children(waiting, Uses{{11, "a", 0.5}, {12, "b", 0.001}});
    REQUIRE(note);
    CHECK(note->find("1 process that descends from it for more: 11 (a) 50.0%;") != note->npos);
}

TEST_CASE("a name that would reach the terminal as a command is shown harmlessly") {
    const auto note = note_of_busy_children(waiting, Uses{{11, "\x1b[2J", 0.5}});
    REQUIRE(note);
    CHECK(note->find('\x1b') == note->npos);
}

}  // namespace shadowprof::busy_children_test
