#include "report/annotate/listing.h"

#include <doctest/doctest.h>

#include <sstream>

#include "base/text/captured_text.h"
#include "base/text/text_format.h"
#include "report/testdata/files.h"

namespace shadowprof::listing_test {
namespace {

std::vector<std::string> listed(const AnnotatedFunction& function, const Profile& profile,
                                ListingOptions options = {}, TextOptions text_options = {}) {
    RecordedSymbols symbols;
    SourceFiles sources;
    std::istringstream in(captured_text([&](std::FILE* out) {
        TextPage page(text_options, out);
        FunctionListing(profile, symbols, sources, page).print(function, options);
    }));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

const std::string* line_with(const std::vector<std::string>& lines, std::string_view part) {
    for (const std::string& line : lines)
        if (line.find(part) != std::string::npos) return &line;
    return nullptr;
}

// A loop whose conditional branch follows 20 instructions that were never executed.
AnnotatedFunction function() {
    AnnotatedFunction function;
    function.start = {0, 0x1000};
    function.name = "work";
    function.share = 0.5;
    for (std::uint64_t i = 0; i < 20; ++i)
        function.code.push_back(
            {.address = 0x1000 + i, .text = fmt::format("cold {}", i), .executions = 0});
    function.code.push_back({.address = 0x1014, .text = "inc eax", .executions = 300});
    function.code.push_back({.address = 0x1016,
                             .text = "jne 0x1014",
                             .executions = 100,
                             .successors = {{{0, 0x1014}, EdgeKind::taken, 75},
                                            {{0, 0x1018}, EdgeKind::fall_through, 25}}});
    return function;
}

Profile profile() {
    Profile profile;
    profile.modules = {{"/bin/work", "", 0}};
    profile.edges = {{{0, 0x1016}, {0, 0x1014}, EdgeKind::taken, 75}};
    profile.stacks = {{{{0, 0x1000}}, 400, 1}};
    return profile;
}

}  // namespace

TEST_CASE("instructions have executions, shares and what branches did") {
    const auto lines = listed(function(), profile());
    CHECK(*line_with(lines, "work  ") == "work  50.0% ? of instructions");
    CHECK(line_with(lines, "inc eax")->starts_with("     300   75.0%  1014  inc eax"));
    CHECK(line_with(lines, "jne 0x1014")->ends_with("taken 75.0%"));
}

TEST_CASE("where there are times there is a column of them") {
    AnnotatedFunction timed = function();
    timed.time_share = 0.25;
    timed.code[7].time_ns = 1'000;
    timed.code[20].time_ns = 3'000;
    const auto lines = listed(timed, profile());
    CHECK(*line_with(lines, "work  ") == "work  50.0% ? of instructions, 25.0% of time");
    CHECK(line_with(lines, "share of its time") != nullptr);
    CHECK(line_with(lines, "inc eax")->starts_with("     300   75.0%   75.0%  1014  inc eax"));
    CHECK(line_with(lines, "jne 0x1014")->starts_with("     100   25.0%          1016  jne"));
    // Code with time is not cold, even if no sample executed it.
    CHECK(line_with(lines, "cold 7")->starts_with(std::string(17, ' ') + "  25.0%  1007  cold 7"));
}

TEST_CASE("long stretches without executions are folded unless all is asked for") {
    const auto lines = listed(function(), profile());
    CHECK(line_with(lines, "cold 1") != nullptr);
    CHECK(line_with(lines, "cold 7") == nullptr);
    CHECK(line_with(lines, "16 instructions, never executed") != nullptr);
    const auto all = listed(function(), profile(), {.all = true});
    CHECK(line_with(all, "cold 7") != nullptr);
    CHECK(all.size() == lines.size() + 15);
}

TEST_CASE("lines of source are shown where the module's own debug information names them") {
    const TemporaryDirectory directory;
    const std::string path = directory.path("work.c");
    write_file(path, "one\n\ttwo\x1b[2J\nthree\n");
    AnnotatedFunction with_lines = function();
    for (AnnotatedInstruction& each : with_lines.code) {
        each.file = path;
        each.line = 2;
    }
    with_lines.lines_are_of_file = true;
    auto lines = listed(with_lines, profile());
    // Tabs become columns, and control characters are replaced.
    CHECK(line_with(lines, "work.c:2          two?[2J") != nullptr);
    lines = listed(with_lines, profile(), {.view = ListingView::source});
    CHECK(line_with(lines, "     1  one") != nullptr);
    CHECK(line_with(lines, "two")->starts_with("     300  100.0%      2"));
    CHECK(line_with(lines, "three") != nullptr);
    with_lines.lines_are_of_file = false;
    CHECK(line_with(listed(with_lines, profile()), "two") == nullptr);
    CHECK(line_with(listed(with_lines, profile(), {.view = ListingView::source}), "two") ==
          nullptr);
}

TEST_CASE("a source view of code without lines says so and shows instructions") {
    const auto lines = listed(function(), profile(), {.view = ListingView::source});
    CHECK(line_with(lines, "no source") != nullptr);
    CHECK(line_with(lines, "inc eax") != nullptr);
}

TEST_CASE("no line is wider than the terminal, whatever names and lines there are") {
    AnnotatedFunction awkward = function();
    awkward.name = std::string(500, 'x');
    awkward.incomplete = "because\x1b" + std::string(500, 'y');
    awkward.code.back().text = "\x1b[2J" + std::string(500, 'z');
    const std::string file = "/src/" + std::string(500, 'f');
    awkward.code[20].file = file;
    awkward.code[20].line = UINT32_MAX;
    for (const std::size_t width : {60U, 80U, 133U})
        for (const auto view : {ListingView::mixed, ListingView::source})
            for (const std::string& line :
                 listed(awkward, profile(), {.view = view}, {.width = width})) {
                CHECK_MESSAGE(columns(line) <= width, line);
                CHECK(line.find('\x1b') == std::string::npos);
            }
}

TEST_CASE("hot lines are coloured where colours are wanted") {
    const auto lines = listed(function(), profile(), {}, {.colour = true});
    CHECK(line_with(lines, "inc eax")->starts_with("\x1b[31m"));
    CHECK(line_with(listed(function(), profile()), "\x1b") == nullptr);
}

}  // namespace shadowprof::listing_test
