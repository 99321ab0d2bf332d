#include "cli/commands/version_text.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

namespace shadowprof::version_text_test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

TEST_CASE("the first line is the name and the version alone, for scripts that read it") {
    CHECK(lines_of(version_text()).front() == "shadowprof " SHADOWPROF_VERSION);
}

TEST_CASE("each other line has a name and a value") {
    const auto lines = lines_of(version_text());
    REQUIRE(lines.size() > 8);
    for (std::size_t at = 1; at < lines.size(); ++at) {
        CAPTURE(lines[at]);
        std::istringstream words(lines[at]);
        std::string name, value;
        words >> name >> value;
        CHECK(!name.empty());
        CHECK(!value.empty());
        CHECK(value != "unknown");
    }
}

}  // namespace
}  // namespace shadowprof::version_text_test
