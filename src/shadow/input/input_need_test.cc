#include "shadow/input/input_need.h"

#include <doctest/doctest.h>

namespace shadowprof::input_need_test {

TEST_CASE("input need: it is there when samples end by input, and not by the first alone") {
    InputNeed need;
    CHECK_FALSE(need.observe(true));
    CHECK_FALSE(need.is_there());
    CHECK(need.observe(true));
    CHECK(need.is_there());
    CHECK_FALSE(need.observe(true));
    CHECK(need.is_there());
}

TEST_CASE("input need: few samples that end so do not make it, and it goes when they are few") {
    InputNeed need;
    for (int i = 0; i < 40; ++i) need.observe(i % 4 == 3);
    CHECK_FALSE(need.is_there());
    for (int i = 0; i < 16; ++i) need.observe(true);
    CHECK(need.is_there());
    unsigned needed = 0;
    while (need.is_there() && needed < 100) {
        need.observe(false);
        ++needed;
    }
    CHECK_FALSE(need.is_there());
    CHECK(needed > 4);
}

}  // namespace shadowprof::input_need_test
