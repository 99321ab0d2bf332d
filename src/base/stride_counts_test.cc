#include "base/stride_counts.h"

#include <doctest/doctest.h>

namespace shadowprof::stride_counts_test {

TEST_CASE("the most frequent stride is known among many that come once") {
    StrideCounts counts;
    CHECK(counts.most().count == 0);
    for (int i = 0; i < 1000; ++i) {
        counts.add(-24, 1);
        counts.add(-24, 1);
        counts.add(1000 + i, 1);
    }
    const auto most = counts.most();
    CHECK(most.stride == -24);
    // The count is too small by at most a fifth of all 3000.
    CHECK(most.count <= 2000);
    CHECK(most.count >= 2000 - 600);
}

}  // namespace shadowprof::stride_counts_test
