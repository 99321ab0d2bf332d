#include "shadow/program/thread_table.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace shadowprof::thread_table_test {

TEST_CASE("a thread's samples add up under its name") {
    prctl(PR_SET_NAME, "a \n name");
    ThreadTable table;
    const pid_t self = gettid();
    table.add(getpid(), std::vector<ThreadShare>{{self, 10}, {0, 5}}, 2);
    table.add(getpid(), std::vector<ThreadShare>{{self, 20}}, 2);
    const auto profiles = table.profiles({.instructions = 35, .weighted = 70});
    REQUIRE(profiles.size() == 2);
    CHECK(profiles[0] == ThreadProfile{getpid(), self, "a \n name", 2, 30});
    CHECK(profiles[1] == ThreadProfile{getpid(), 0, "", 1, 5});
}

TEST_CASE("the rows of a table are bounded") {
    ThreadTable table;
    const auto most = static_cast<pid_t>(ThreadTable::max_threads);
    for (pid_t tid = 1; tid <= most + 100; ++tid)
        table.add(-1, std::vector<ThreadShare>{{tid, 1}}, 1);
    const auto profiles = table.profiles({});
    CHECK(profiles.size() <= ThreadTable::max_threads + 1);
    std::uint64_t instructions = 0;
    for (const auto& thread : profiles) instructions += thread.instructions;
    CHECK(instructions == ThreadTable::max_threads + 100);
}

}  // namespace shadowprof::thread_table_test
