#include "report/text/live_page.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::live_page_test {
namespace {

std::vector<std::string> lines_of(const Profile& profile, const LivePage& page) {
    auto symbols = sample_symbols();
    return live_lines(profile, symbols, page);
}

bool mentions(const std::vector<std::string>& lines, std::string_view text) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(text) != line.npos; });
}

TEST_CASE("a screen of a run has what runs, what was sampled, and the hottest functions") {
    Profile profile = sample_profile();
    profile.overhead.estimated_slowdown_percent = 0.7;
    profile.overhead.budget_percent = 2;
    const auto lines = lines_of(profile, {});
    CHECK(lines.front().find("shadowprof: ./victim") == 0);
    CHECK(mentions(lines, "12.5 s, "));
    CHECK(mentions(lines, "slowdown about 0.7% of 2.0% allowed"));
    CHECK_FALSE(mentions(lines, "drawn about"));
    CHECK(mentions(lines, "Hottest functions"));
    CHECK(mentions(lines, "  work "));
}

TEST_CASE("a screen of a run fits the terminal, whatever its size") {
    Profile profile = sample_profile();
    for (std::uint64_t i = 0; i < 300; ++i)
        profile.stacks.push_back({{CodeLocation{1, 0x10000 + 16 * i}}, 1000 - i, 1});
    for (const std::size_t height : {1UL, 3UL, 5UL, 10UL, 24UL, 200UL})
        for (const std::size_t width : {1UL, 20UL, 59UL, 80UL, 250UL}) {
            const auto lines = lines_of(profile, {.width = width, .height = height});
            CHECK(lines.size() <= height);
            CHECK(!lines.empty());
            for (const std::string& line : lines) CHECK_MESSAGE(columns(line) <= width, line);
        }
}

TEST_CASE("a command of any length is cut between characters, in a time that does not show") {
    Profile profile = sample_profile();
    profile.run.command = {"prog"};
    for (int i = 0; i < 500'000; ++i) profile.run.command.back() += "ä";  // 1 MB
    const auto title = lines_of(profile, {.width = 40}).front();
    CHECK(columns(title) == 40);
    CHECK(title.ends_with("ä.."));
}

TEST_CASE("a narrow screen keeps the names of functions") {
    CHECK(mentions(lines_of(sample_profile(), {.width = 40}), "  work"));
}

TEST_CASE("a screen without samples says so, and one that is drawn seldom says why") {
    Profile profile;
    profile.run.command = {"prog"};
    const auto lines = lines_of(profile, {.period_seconds = 5});
    CHECK(mentions(lines, "samples are on their way"));
    CHECK(mentions(lines, "drawn about every 5.00 s, as that is expensive"));
}

TEST_CASE("titles of a screen are bold where the terminal has colours") {
    CHECK(lines_of(sample_profile(), {.colour = true}).front().starts_with("\x1b[1m"));
    CHECK_FALSE(mentions(lines_of(sample_profile(), {}), "\x1b"));
}

}  // namespace
}  // namespace shadowprof::live_page_test
