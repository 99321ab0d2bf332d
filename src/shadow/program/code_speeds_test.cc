#include "shadow/program/code_speeds.h"

#include <doctest/doctest.h>

namespace shadowprof::code_speeds_test {
namespace {

constexpr GuestAddress slow{0x401000}, fast{0x401040}, elsewhere{0x7f0000000000};

}  // namespace

TEST_CASE("code has the speed of the windows that begin nearest to it") {
    CodeSpeeds speeds;
    CHECK(speeds.instructions_per_second(slow) == speeds.instructions_per_second(elsewhere));
    speeds.add(slow, 1'000, 1e-5);
    speeds.add(slow + 60, 2'000, 1e-5);
    CHECK(speeds.instructions_per_second(slow) == doctest::Approx(1.5e8));
    CHECK(speeds.instructions_per_second(slow + 63) == doctest::Approx(1.5e8));
    CHECK(speeds.instructions_per_second(fast) == doctest::Approx(1.5e8));
    CHECK(speeds.instructions_per_second() == doctest::Approx(1.5e8));
    speeds.add(fast, 60'000, 2e-5);
    CHECK(speeds.instructions_per_second(fast) == doctest::Approx(3e9));
    CHECK(speeds.instructions_per_second(slow) == doctest::Approx(1.5e8));
    CHECK(speeds.instructions_per_second(slow + 0x100) == doctest::Approx(63'000 / 4e-5));
    speeds.add(elsewhere, 57'000, 2e-5);
    CHECK(speeds.instructions_per_second({0x500000}) == doctest::Approx(120'000 / 6e-5));
}

TEST_CASE("rough windows count where there are no others") {
    CodeSpeeds speeds;
    CHECK_FALSE(speeds.wants_guess(slow));
    for (const auto pc : {slow, elsewhere}) speeds.note_start(pc);
    CHECK(speeds.wants_guess(slow));
    speeds.add_rough(slow, 1'000, 1e-5);
    CHECK(speeds.instructions_per_second(slow) == doctest::Approx(1e8));
    CHECK(speeds.instructions_per_second(elsewhere) == doctest::Approx(1e8));
    CHECK_FALSE(speeds.knows(slow));
    CHECK_FALSE(speeds.wants_guess(slow));
    CHECK(speeds.wants_guess(elsewhere));
    for (int i = 0; i < 3; ++i) speeds.note_rough_trial(elsewhere);
    CHECK_FALSE(speeds.wants_guess(elsewhere));
    speeds.add(elsewhere, 30'000, 1e-5);
    CHECK(speeds.instructions_per_second(slow) == doctest::Approx(1e8));
    CHECK(speeds.instructions_per_second({0x500000}) == doctest::Approx(3e9));
    speeds.add(slow + 1, 2'000, 1e-5);
    CHECK(speeds.instructions_per_second(slow) == doctest::Approx(2e8));
}

TEST_CASE("code is known where a window has begun near it") {
    CodeSpeeds speeds;
    CHECK(!speeds.knows(slow));
    speeds.add(slow, 1'000, 1e-6);
    CHECK(speeds.knows(slow));
    CHECK(speeds.knows({slow.value ^ 1}));
    CHECK(!speeds.knows({slow.value + 4096}));
}

TEST_CASE("a window is wanted where many samples begin and there is none") {
    CodeSpeeds speeds;
    CHECK_FALSE(speeds.wants_window());
    speeds.note_start(slow);
    CHECK_FALSE(speeds.wants_window());
    speeds.note_start(slow);
    CHECK(speeds.wants_window(slow));
    CHECK_FALSE(speeds.wants_window(fast));
    CHECK(speeds.wants_window());
    speeds.add(slow, 1'000, 1e-6);
    CHECK_FALSE(speeds.wants_window());
    for (int i = 0; i < 100; ++i) speeds.note_start(slow);
    for (int i = 0; i < 5; ++i) speeds.note_start(fast);
    CHECK_FALSE(speeds.wants_window(fast));
    speeds.note_start(fast);
    CHECK(speeds.wants_window(fast));
    for (int i = 0; i < 3; ++i) speeds.note_trial(fast);
    CHECK_FALSE(speeds.wants_window());
}

TEST_CASE("no more is awaited than the fastest code would do, and more after each miss") {
    CodeSpeeds speeds;
    const auto at_first = speeds.max_instructions_per_second();
    CHECK(at_first > speeds.instructions_per_second(slow));
    CHECK(at_first > 25e9);  // some code is that fast
    speeds.add(slow, 1'000'000, 1e-3);
    CHECK(speeds.max_instructions_per_second() == doctest::Approx(at_first));
    speeds.add(fast, 17'000'000, 1e-3);
    speeds.add(elsewhere, 10, 1e-10);
    CHECK(speeds.max_instructions_per_second() == doctest::Approx(3.4e10));
    speeds.add_missed();
    CHECK(speeds.max_instructions_per_second() == doctest::Approx(4.8e10));
    speeds.add_missed();
    CHECK(speeds.max_instructions_per_second() == doctest::Approx(4.8e10));
    speeds.add(slow, 1'000'000, 1e-3);
    CHECK(speeds.max_instructions_per_second() == doctest::Approx(3.4e10));
}

TEST_CASE("a process whose windows are all missed has few of them") {
    CodeSpeeds speeds;
    const auto windows_of = [&](int samples, bool met) {
        int windows = 0;
        for (int i = 0; i < samples; ++i) {
            if (!speeds.may_have_window()) continue;
            ++windows;
            if (met)
                speeds.add(slow, 1'000, 1e-6);
            else
                speeds.add_missed();
        }
        return windows;
    };
    CHECK(windows_of(3, false) == 3);
    CHECK(windows_of(130, false) == 6);
    CHECK(windows_of(1'000, false) < 20);
    CHECK(windows_of(65, true) >= 1);
    CHECK(windows_of(100, true) == 100);
}

}  // namespace shadowprof::code_speeds_test
