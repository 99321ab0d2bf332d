#include "cli/terminal/screen.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace shadowprof::screen_test {
namespace {

// A pipe in the place of a terminal. It has no size and no foreground.
struct Piped {
    UniqueFd reading;
    Screen screen;

    static Piped make() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        auto screen = Screen::on(UniqueFd(ends[1]));
        REQUIRE(screen.has_value());
        return {UniqueFd(ends[0]), std::move(screen).value()};
    }
    void draw(const std::vector<std::string>& lines) { screen.draw(lines); }
    std::string written() const {
        std::string text;
        char bytes[4096];
        while (is_readable(reading.get())) {
            const auto count = ::read(reading.get(), bytes, sizeof bytes);
            if (count <= 0) break;
            text.append(bytes, static_cast<std::size_t>(count));
        }
        return text;
    }
};

constexpr const char *enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J",
                     *leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

TEST_CASE("the alternate screen is entered by the first drawing and left once") {
    auto piped = Piped::make();
    piped.screen.leave();
    CHECK(piped.written().empty());
    piped.draw({"a", "b"});
    CHECK(piped.written() == std::string(enter) + "\x1b[H\x1b[Ka\r\n\x1b[Kb\r\n\x1b[J");
    piped.draw({"c"});
    CHECK(piped.written() == "\x1b[H\x1b[Kc\r\n\x1b[J");
    piped.screen.leave();
    piped.screen.leave();
    CHECK(piped.written() == leave);
}

TEST_CASE("nothing is drawn while the screen is suspended") {
    auto piped = Piped::make();
    piped.draw({"a"});
    (void)piped.written();
    piped.screen.suspend();
    CHECK(piped.written() == leave);
    piped.draw({"b"});
    CHECK(piped.written().empty());
    piped.screen.resume();
    piped.draw({"c"});
    CHECK(piped.written().starts_with(enter));
}

TEST_CASE("a screen that is destroyed restores the terminal") {
    UniqueFd reading;
    {
        auto piped = Piped::make();
        piped.draw({"a"});
        reading = UniqueFd(::dup(piped.reading.get()));
        (void)piped.written();
    }
    char bytes[64] = {};
    CHECK(::read(reading.get(), bytes, sizeof bytes - 1) > 0);
    CHECK(std::string(bytes) == leave);
}

TEST_CASE("a terminal that nobody reads is not waited for, and is left when it is read again") {
    auto piped = Piped::make();
    const std::size_t size = 100'000;  // more than a pipe takes
    piped.draw({std::string(size, 'x')});
    piped.draw({"a"});
    piped.screen.leave();
    CHECK(piped.written().size() < size);
    piped.screen.leave();
    CHECK(piped.written() == leave);
}

TEST_CASE("the file that others write to stays one that blocks") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd reading(ends[0]), writing(ends[1]);
    auto screen = Screen::on(UniqueFd(::dup(writing.get())));
    REQUIRE(screen.has_value());
    CHECK((::fcntl(writing.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a full screen does not scroll") {
    auto piped = Piped::make();
    piped.draw(std::vector<std::string>(24, "x"));
    CHECK(piped.written().ends_with("\x1b[Kx"));
}

}  // namespace
}  // namespace shadowprof::screen_test
