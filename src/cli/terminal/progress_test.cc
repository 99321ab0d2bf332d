#include "cli/terminal/progress.h"

#include <doctest/doctest.h>

#include <initializer_list>

#include "base/text/captured_text.h"

namespace shadowprof::progress_test {
namespace {

// Returns what a progress line writes at these seconds of a run.
std::string shown(bool is_terminal, std::initializer_list<double> seconds) {
    return captured_text([&](std::FILE* out) {
        ProgressLine line(out, is_terminal);
        for (const double second : seconds) line.show({second, 2, 1'500'000});
    });
}

TEST_CASE("on a terminal the line is rewritten, not too often, and is gone in the end") {
    CHECK(shown(true, {1.0, 1.1, 1.3}) ==
          "\r\033[Kshadowprof: 1.0 s, 2 samples, 1.5 million instructions"
          "\r\033[Kshadowprof: 1.3 s, 2 samples, 1.5 million instructions"
          "\r\033[K");
}

TEST_CASE("elsewhere whole lines are written, seldom, without control characters") {
    CHECK(shown(false, {1.0, 1.3, 5.9, 6.0}) ==
          "shadowprof: 1.0 s, 2 samples, 1.5 million instructions\n"
          "shadowprof: 6.0 s, 2 samples, 1.5 million instructions\n");
}

TEST_CASE("one sample is not told in the plural") {
    CHECK(progress_text({1.0, 1, 0}) == "1.0 s, 1 sample, 0.0 million instructions");
    CHECK(progress_text({1.0, 1, 0, "interval"}) ==
          "1.0 s, 1 interval, 0.0 million instructions, 0.0 million/s");
}

TEST_CASE("speed is told where all instructions are followed") {
    CHECK(progress_text({2.0, 3, 5'000'000, "interval"}) ==
          "2.0 s, 3 intervals, 5.0 million instructions, 2.5 million/s");
}

TEST_CASE("the time to a limit is told if there is one, and something to reckon with") {
    CHECK(progress_text({2.0, 30, 0}, {.seconds = 10}).ends_with(", about 8 s to the limit"));
    CHECK(progress_text({2.0, 30, 0}, {.samples = 60}).ends_with(", about 2 s to the limit"));
    CHECK(progress_text({2.0, 30, 0}, {.seconds = 10, .samples = 60})
              .ends_with(", about 2 s to the limit"));
    CHECK(progress_text({2.0, 3, 4'000'000, "interval"}, {.instructions = 6'000'000})
              .ends_with("million/s, about 1 s to the limit"));
    CHECK(progress_text({2.0, 3, 0}, {.samples = 60}).ends_with("instructions"));
    CHECK(progress_text({0.5, 30, 0}, {.samples = 60}).ends_with("instructions"));
    CHECK(progress_text({12.0, 30, 0}, {.seconds = 10}).ends_with(", about 0 s to the limit"));
}

TEST_CASE("a run that ends before anything is shown leaves nothing") {
    CHECK(shown(true, {}).empty());
    CHECK(shown(false, {}).empty());
}

}  // namespace
}  // namespace shadowprof::progress_test
