#include "cli/terminal/work_line.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files/fd.h"
#include "base/text/captured_text.h"
#include "cli/terminal/progress.h"

namespace shadowprof::work_line_test {
namespace {

// Returns what a line writes that is asked to show "work" at these seconds.
std::string shown(bool is_terminal, std::initializer_list<double> seconds) {
    return captured_text([&](std::FILE* out) {
        double now = 10;
        WorkLine line(out, is_terminal, [&] { return now; });
        for (const double second : seconds) {
            now = 10 + second;
            line.show([] { return std::string("work"); });
        }
    });
}

TEST_CASE("work that takes long is shown on a terminal, not too often, and is gone in the end") {
    CHECK(shown(true, {0.1, 0.9, 1.0, 1.1, 1.3}) ==
          "\r\033[Kshadowprof: work\r\033[Kshadowprof: work\r\033[K");
    CHECK(shown(true, {0.1, 0.9}).empty());
    CHECK(shown(false, {0.1, 1.5, 3}).empty());
}

// A terminal of 40 columns.
struct NarrowTerminal {
    UniqueFd master{::posix_openpt(O_RDWR | O_NOCTTY)};
    std::FILE* out = nullptr;

    NarrowTerminal() {
        char name[64] = {};
        REQUIRE(::grantpt(master.get()) == 0);
        REQUIRE(::unlockpt(master.get()) == 0);
        REQUIRE(::ptsname_r(master.get(), name, sizeof name) == 0);
        const UniqueFd slave(::open(name, O_RDWR | O_NOCTTY));
        const winsize size = {.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
        REQUIRE(::ioctl(slave.get(), TIOCSWINSZ, &size) == 0);
        out = ::fdopen(::dup(slave.get()), "w");
        REQUIRE(out != nullptr);
    }
    NarrowTerminal(const NarrowTerminal&) = delete;
    NarrowTerminal& operator=(const NarrowTerminal&) = delete;
    ~NarrowTerminal() { std::fclose(out); }
    std::string written() const {
        char bytes[4096];
        const auto count = ::read(master.get(), bytes, sizeof bytes);
        return {bytes, count < 0 ? 0 : static_cast<std::size_t>(count)};
    }
};

TEST_CASE("a line is cut to the width of the terminal, so that all of it can be erased") {
    const NarrowTerminal terminal;
    double now = 10;
    WorkLine line(terminal.out, true, [&] { return now; });
    now = 12;
    line.show([] { return "reading '" + std::string(200, 'x') + ".json'"; });
    CHECK(terminal.written() == "\r\033[Kshadowprof: reading 'xxxx..xxxxxx.json'");
    ProgressLine progress(terminal.out, true);
    progress.show({1.0, 2, 1'500'000});
    CHECK(terminal.written() == "\r\033[Kshadowprof: 1.0 s, 2 samp..instructions");
}

TEST_CASE("the time that is left is told only where there is a basis") {
    CHECK(time_left_text(2, 25, 100) == ", about 6 s left");
    CHECK(time_left_text(2, 1, 100).empty());
    CHECK(time_left_text(2, 0, 0).empty());
    CHECK(time_left_text(2, 100, 100).empty());
}

TEST_CASE("bytes are told with their sum, if that is known") {
    CHECK(megabytes_text(12'300'000, 0) == "12.3 MB");
    CHECK(megabytes_text(12'300'000, 45'600'000) == "12.3 of 45.6 MB");
}

TEST_CASE("reading is shown with what is left, and is gone when it is done") {
    const auto text = captured_text([](std::FILE* out) {
        double now = 10;
        WorkLine line(out, true, [&] { return now; });
        const ReadListener on_read = reading_on(line);
        now = 12;
        on_read({.path = "p.json", .bytes = 25'000'000, .size = 100'000'000});
        on_read({.path = "p.json", .bytes = 100'000'000, .size = 100'000'000, .is_done = true});
    });
    CHECK(text == "\r\033[Kshadowprof: reading 'p.json': 25.0 of 100.0 MB, about 6 s left\r\033[K");
}

TEST_CASE("a sink that is watched passes on all bytes") {
    StringSink sink;
    WorkLine line(stderr, false);
    WatchedSink watched(sink, line, "writing");
    REQUIRE(watched.write("a"));
    REQUIRE(watched.write("b"));
    CHECK(sink.text() == "ab");
}

}  // namespace
}  // namespace shadowprof::work_line_test
