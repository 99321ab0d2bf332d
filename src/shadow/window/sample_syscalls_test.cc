#include "shadow/window/sample_syscalls.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>

namespace shadowprof::sample_syscalls_test {

TEST_CASE("calls are added up by name and by class, unknown ones as benign") {
    SyscallCounts counts;
    counts.by_number[SYS_getpid] = 2;
    counts.by_number[SYS_fork] = 1;
    counts.unknown = 2;
    SyscallStats stats;
    add_counts(counts, stats);
    add_counts(counts, stats);
    CHECK(stats.by_name ==
          std::map<std::string, std::uint64_t>{{"fork", 2}, {"getpid", 4}, {"unknown", 4}});
    CHECK(stats.by_class.at("benign") == 8);
    CHECK(stats.by_class.at("unsafe") == 2);
}

}  // namespace shadowprof::sample_syscalls_test
