// The formats of a diff, with names that try to break out of them.
#include "report/diff/text/diff_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text/text_format.h"
#include "report/diff/compare_profiles.h"
#include "report/diff/test_profiles.h"

namespace shadowprof::diff_report_test {
namespace {

const std::string hostile = "evil|`x`<img src=x>\x1b[31m\r\n::error::mine%@user";
const std::vector<TestBuild::Instruction> code{{"add eax, edi", 1}, {"jne 0x1000", 1}};

struct Compared {
    TestBuild base{"/bin/a|b\n<p>", "aa"}, next{"/bin/a|b\n<p>", "aa"};
    Diff diff;
    std::vector<LimitResult> limits;

    Compared() {
        for (TestBuild* build : {&base, &next}) {
            const CodeLocation f = build->function(hostile, code);
            build->executed(f, build == &base ? 100 : 200);
            build->edge(after(f, 4), f, build == &base ? 10 : 20);
            build->executed(build->function("calm", code), 50);
            build->exact();
        }
        diff = compare_profiles(base.file, next.file, 10);
        const std::vector<Limit> list{*parse_limit("function:evil*>+5%"),
                                      *parse_limit("function:calm>+5%")};
        limits = *check_limits(diff, list, {});
    }
    DiffReport report() const {
        return {
            {"b\x1b.json", base.file.profile}, {"n|.json", next.file.profile}, diff, limits, 10};
    }
};

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("text fits its width, has no control characters, and colours only if told") {
    const Compared compared;
    for (const std::size_t width : {60UL, 80UL, 200UL}) {
        const std::string text = diff_text(compared.report(), {.width = width});
        for (const std::string& line : lines(text)) {
            CHECK(columns(line) <= width);
            CHECK(printable(line) == line);
        }
        CHECK(contains(text, "EXCEEDED"));
        CHECK(contains(text, "+100.00%"));
    }
    CHECK(contains(diff_text(compared.report(), {.colour = true}), "\033[31m"));
    CHECK(contains(diff_text(compared.report(), {}), "b?.json"));
}

TEST_CASE("JSON has stable names, and names of functions as they are") {
    const Compared compared;
    StringSink sink;
    REQUIRE(write_diff_json(compared.report(), sink));
    const auto json = nlohmann::json::parse(sink.text());
    CHECK(json["schema"] == "shadowprof-diff/1");
    CHECK(json["compared_as"] == "counts");
    const auto& first = json["functions"]["entries"].at(0);
    CHECK(first["name"] == hostile);
    CHECK(first["finding"] == "changed");
    CHECK(first["matched_by"] == "address");
    CHECK(first["base"]["value"] == 100);
    CHECK(first["difference"] == 100);
    CHECK(first["relative"] == 1.0);
    CHECK(json["totals"].at(0)["name"] == "instructions");
    CHECK(json["values"].is_null());
    CHECK(json["limits"].at(0)["verdict"] == "exceeded");
    CHECK(json["limits"].at(0)["entries"].at(0)["name"] == hostile);
    CHECK(json["limits"].at(1)["verdict"] == "kept");
    CHECK(json["modules"].at(0)["same_build"] == true);
}

TEST_CASE("each row of a Markdown table has its cells, whatever is in them") {
    const Compared compared;
    const std::string text = diff_markdown(compared.report());
    std::size_t rows = 0;
    for (const std::string& line : lines(text)) {
        CHECK(printable(line) == line);
        CHECK_FALSE(contains(line, "<img"));
        CHECK_FALSE(contains(line, "@user"));
        if (!line.starts_with("| evil")) continue;
        ++rows;
        CHECK(std::count(line.begin(), line.end(), '|') == 6);
    }
    CHECK(rows >= 1);
    CHECK(contains(text, "**exceeded**"));
}

TEST_CASE("Markdown is cut to what GitHub shows, and says what was cut") {
    TestBuild base{"/bin/a", "aa"}, next{"/bin/a", "aa"};
    for (TestBuild* build : {&base, &next}) {
        for (int i = 0; i < 2000; ++i) {
            const auto name = fmt::format("f{:04}<{}>", i, std::string(1000, 'x'));
            build->executed(build->function(name, code), build == &base ? 100 : 300);
        }
        build->exact();
    }
    const Diff diff = compare_profiles(base.file, next.file, 2000);
    const DiffReport report{
        {"b.json", base.file.profile}, {"n.json", next.file.profile}, diff, {}, 2000};
    for (const std::size_t most : {std::size_t{8'000}, max_comment_bytes, max_summary_bytes}) {
        const std::string text = diff_markdown(report, most);
        CHECK(text.size() <= most);
        CHECK(text.size() > most / 4);
        const auto all = lines(text);
        const auto rows = static_cast<std::size_t>(std::ranges::count_if(
            all, [](const std::string& line) { return line.starts_with("| f"); }));
        const auto& last = all.back();
        CHECK(last.starts_with("Cut: "));
        // One name in each row is shortened.
        CHECK(contains(last, fmt::format("; {} long texts shortened", rows)) == (rows != 2000));
        CHECK(contains(last, "long texts shortened"));
        CHECK(contains(last, fmt::format("as there was room for {} bytes", most)) ==
              (rows != 2000));
        CHECK(contains(last, fmt::format("{} of ", 2000 - rows)) == (rows != 2000));
        CHECK(contains(text, "</details>"));
    }
    CHECK(contains(diff_markdown(report), "xx&#46;&#46;xx"));
    CHECK_FALSE(contains(diff_markdown(Compared().report()), "Cut: "));
}

TEST_CASE("an exceeded limit is one command of GitHub's, a kept one is none") {
    const Compared compared;
    const auto commands = lines(github_annotations(compared.report()));
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].starts_with("::error title=shadowprof%3A function%3Aevil*>+5%25::evil|"));
    CHECK(contains(commands[0], "%0D%0A::error::mine%25@user"));
}

}  // namespace shadowprof::diff_report_test
