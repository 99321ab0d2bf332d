#include "shadow/exact/process/one_processor.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace shadowprof::one_processor_test {
namespace {

cpu_set_t processors_of(pid_t thread) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    REQUIRE(sched_getaffinity(thread, sizeof processors, &processors) == 0);
    return processors;
}

bool is_equal(const cpu_set_t& a, const cpu_set_t& b) {
    return CPU_EQUAL(&a, &b) != 0;
}

}  // namespace

TEST_CASE("threads are on one processor for a while, and get their own back") {
    const auto before = processors_of(0);
    {
        OneProcessor one{std::initializer_list<pid_t>{}};
        const auto now = processors_of(0);
        CHECK(CPU_COUNT(&now) == 1);
        one.remove(gettid());
        CHECK(is_equal(processors_of(0), before));
        one.add(gettid());
        CHECK(is_equal(processors_of(0), now));
        one.remove(0x7fffffff);  // no such thread
    }
    CHECK(is_equal(processors_of(0), before));
}

TEST_CASE("a thread that may use one processor alone is left as it is") {
    const auto before = processors_of(0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    {
        OneProcessor nothing{std::initializer_list<pid_t>{}};
        CHECK(is_equal(processors_of(0), one));
    }
    CHECK(is_equal(processors_of(0), one));
    REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace shadowprof::one_processor_test
