#include "base/text/numbered.h"

#include <doctest/doctest.h>

namespace shadowprof::numbered_test {

TEST_CASE("one is singular, all other counts are plural") {
    CHECK(numbered(1, "run") == "1 run");
    CHECK(numbered(0, "run") == "0 runs");
    CHECK(numbered(12345, "run") == "12345 runs");
    CHECK(numbered(1, "process") == "1 process");
    CHECK(numbered(2, "process") == "2 processes");
    CHECK(numbered(2, "branch") == "2 branches");
    CHECK(numbered(2, "system call") == "2 system calls");
    CHECK(noun_for(1, "edge") == "edge");
    CHECK(noun_for(2, "edge") == "edges");
    CHECK(word_for(1, "was", "were") == "was");
    CHECK(word_for(0, "was", "were") == "were");
}

}  // namespace shadowprof::numbered_test
