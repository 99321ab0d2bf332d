#include "shadow/budget/fault_watch.h"

#include <doctest/doctest.h>

namespace shadowprof::fault_watch_test {
using std::chrono::milliseconds;

namespace {

// A process that is looked at every 10 ms.
class Process {
  public:
    // Returns how many faults were induced.
    std::uint64_t observe(std::uint64_t more_faults) {
        const auto faults = induced(more_faults);
        return faults.copied + faults.reused;
    }
    InducedFaults induced(std::uint64_t more_faults) {
        now_ += milliseconds(10);
        return watch_.observe(now_, faults_ += more_faults);
    }
    void fork(std::uint64_t pages) { watch_.on_fork(pages); }
    void end_replica(std::uint64_t more_faults) {
        now_ += milliseconds(10);
        watch_.on_replica_end(now_, faults_ += more_faults);
    }

  private:
    FaultWatch watch_;
    FaultWatch::Clock::time_point now_{std::chrono::seconds(5)};
    std::uint64_t faults_ = 5000;
};

}  // namespace

TEST_CASE("what happens before the first fork is nobody's fault") {
    Process process;
    CHECK(process.observe(0) == 0);
    CHECK(process.observe(700) == 0);
}

TEST_CASE("without a time to compare with, all faults behind a fork are its own") {
    Process process;
    process.observe(0);
    process.fork(1000);
    CHECK(process.observe(300) == 300);
    CHECK(process.observe(20) == 20);
}

TEST_CASE("a fork cannot induce more faults than there were pages") {
    Process process;
    process.observe(0);
    process.fork(100);
    CHECK(process.observe(80) == 80);
    CHECK(process.observe(80) == 20);
    CHECK(process.observe(80) == 0);
}

TEST_CASE("the process's own faults are known from times without a fork") {
    Process process;
    for (int i = 0; i < 4; ++i) process.observe(50);
    process.fork(1000);
    CHECK(process.observe(250) == doctest::Approx(200).epsilon(0.02));
    CHECK(process.observe(50) <= 1);
}

TEST_CASE("of rates that differ the least one counts, and none for long") {
    Process process;
    for (const std::uint64_t faults : {0u, 90u, 10u, 40u}) process.observe(faults);
    process.fork(100'000);
    CHECK(process.observe(100) == doctest::Approx(90).epsilon(0.02));
    for (int i = 0; i < 12; ++i) {
        process.fork(100'000);
        process.observe(100);
    }
    process.fork(100'000);
    CHECK(process.observe(100) == 100);
}

TEST_CASE("pages are copied as long as a replica lives, and only made writable later") {
    Process process;
    process.observe(0);
    process.fork(1000);
    process.end_replica(200);
    CHECK(process.induced(300) == InducedFaults{.copied = 200, .reused = 300});
    CHECK(process.induced(20) == InducedFaults{.reused = 20});
    process.fork(1000);
    CHECK(process.induced(50) == InducedFaults{.copied = 50});
    process.fork(1000);
    process.end_replica(10);
    CHECK(process.induced(30) == InducedFaults{.copied = 40});
    process.end_replica(1);
    CHECK(process.induced(2) == InducedFaults{.copied = 1, .reused = 2});
}

TEST_CASE("the end of a replica of which nobody knows changes nothing") {
    Process process;
    process.end_replica(100);
    CHECK(process.induced(100) == InducedFaults{});
    for (int i = 0; i < 4; ++i) process.observe(50);
    process.fork(1000);
    process.end_replica(250);
    process.end_replica(50);
    CHECK(process.induced(50).copied == doctest::Approx(200).epsilon(0.02));
}

TEST_CASE("what a fork induces is over after a while") {
    Process process;
    process.observe(0);
    process.fork(1'000'000);
    for (int i = 0; i < 6; ++i) CHECK(process.observe(10) == 10);
    CHECK(process.observe(10) == 0);
}

}  // namespace shadowprof::fault_watch_test
