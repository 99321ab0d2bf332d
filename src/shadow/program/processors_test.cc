#include "shadow/program/processors.h"

#include <doctest/doctest.h>

#include <thread>

namespace shadowprof::processors_test {
namespace {

cpu_set_t set_of(std::initializer_list<std::size_t> processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::size_t each : processors) CPU_SET(each, &set);
    return set;
}

bool same(const cpu_set_t& a, const cpu_set_t& b) {
    return CPU_EQUAL(&a, &b) != 0;
}

cpu_set_t own_processors() {
    cpu_set_t set;
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    return set;
}

}  // namespace

TEST_CASE("lists of processors are read as far as they are lists") {
    CHECK(same(listed_processors("0,4"), set_of({0, 4})));
    CHECK(same(listed_processors("1-3,7\n"), set_of({1, 2, 3, 7})));
    CHECK(same(listed_processors("2,x"), set_of({2})));
    CHECK(same(listed_processors(""), set_of({})));
    CHECK(same(listed_processors("-1"), set_of({})));
    CHECK(same(listed_processors("1023-99999999"), set_of({1023})));
}

TEST_CASE("a burst is worked on by another core than the target's, if there is one") {
    const auto four = set_of({0, 1, 2, 3});
    CHECK(other_processor(four, 0, listed_processors("0")) == 1);
    CHECK(other_processor(four, 0, listed_processors("0-1")) == 2);
    CHECK(other_processor(four, 0, listed_processors("0,1,2-2")) == 3);
    CHECK(other_processor(four, 0, listed_processors("0-3")) == 1);
    CHECK(other_processor(four, 0, listed_processors("rubbish")) == 1);
    CHECK(other_processor(four, -1, listed_processors("")) == 0);
    CHECK_FALSE(other_processor(set_of({2}), 2, listed_processors("2")));
}

TEST_CASE("processors are left that the target does not need, other cores before siblings") {
    const auto four = set_of({0, 1, 2, 3});
    CHECK(same(processors_left(four, set_of({1}), set_of({1})), set_of({0, 2, 3})));
    CHECK(same(processors_left(four, set_of({1}), set_of({0, 1})), set_of({2, 3})));
    CHECK(same(processors_left(four, set_of({1, 2}), four), set_of({0, 3})));
    CHECK(same(processors_left(four, four, four), four));
    CHECK(same(processors_left(four, set_of({7}), set_of({7})), four));
    CHECK(same(processors_left(four, set_of({}), set_of({})), four));
}

TEST_CASE("our threads keep off the target's processors, and may go anywhere afterwards") {
    const cpu_set_t before = own_processors();
    if (CPU_COUNT(&before) < 2) return;
    cpu_set_t busy;
    CPU_ZERO(&busy);
    for (std::size_t i = 0; CPU_COUNT(&busy) == 0; ++i)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &busy);
    {
        OwnProcessors own;
        own.avoid(busy, {});
        cpu_set_t in_thread;
        std::thread([&] { in_thread = own_processors(); }).join();
        cpu_set_t shared;
        CPU_AND(&shared, &in_thread, &busy);
        CHECK(CPU_COUNT(&shared) == 0);
        CHECK(CPU_COUNT(&in_thread) > 0);
    }
    CHECK(same(own_processors(), before));
}

}  // namespace shadowprof::processors_test
