// The share of the kernel beside what getrusage says.
#include "shadow/looks/kernel_share.h"

#include <doctest/doctest.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"

namespace shadowprof::kernel_share_test {
namespace {

using Clock = KernelShare::Clock;

rusage used() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage;
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

TEST_CASE("the kernel's share is that of the time between the first and the last reading") {
    KernelShare share;
    share.note(0, ::getpid(), Clock::now());
    CHECK(!share.share());
    const auto before = used();
    const double begin = cpu_seconds(RUSAGE_SELF);
    std::array<char, 65536> bytes;
    while (cpu_seconds(RUSAGE_SELF) < begin + 0.8) {
        REQUIRE(::getrandom(bytes.data(), bytes.size(), 0) > 0);
        share.note(0, ::getpid(), Clock::now());
    }
    const auto after = used();
    share.note_now(0, ::getpid(), Clock::now());
    const double system = seconds(after.ru_stime) - seconds(before.ru_stime);
    const double user = seconds(after.ru_utime) - seconds(before.ru_utime);
    REQUIRE(share.share());
    CHECK(*share.share() == doctest::Approx(system / (user + system)).epsilon(0.1));
}

TEST_CASE("what a process did before it was noted, or in a pause, counts nothing") {
    KernelShare share;
    share.note_now(0, ::getpid(), Clock::now());
    share.pause();
    const double begin = cpu_seconds(RUSAGE_SELF);
    while (cpu_seconds(RUSAGE_SELF) < begin + 0.7) continue;
    share.note_now(0, ::getpid(), Clock::now());
    CHECK(!share.share());
}

}  // namespace shadowprof::kernel_share_test
