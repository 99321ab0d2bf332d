// The page of a diff, with names that try to break out of its data.
#include "report/html/diff_page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "report/diff/compare_profiles.h"
#include "report/diff/test_profiles.h"

namespace shadowprof::diff_page_test {
namespace {

using Json = nlohmann::json;

const std::string hostile = "</script><script>alert(1)</script>";
const std::vector<TestBuild::Instruction> code{{"add eax, edi", 1}, {"jne 0x1000", 1}};

// The page of two exact profiles, of which the second has twice the instructions.
std::string made_page() {
    TestBuild base{"/bin/<p>&", "aa"}, next{"/bin/<p>&", "aa"};
    for (TestBuild* build : {&base, &next}) {
        build->executed(build->function(hostile, code), build == &base ? 100 : 200);
        build->exact();
    }
    const Diff diff = compare_profiles(base.file, next.file, 10);
    const std::vector<LimitResult> limits =
        *check_limits(diff, std::vector<Limit>{*parse_limit("function:*>+5%")}, {});
    StringSink sink;
    REQUIRE(write_diff_page(
        {{hostile, base.file.profile}, {"new", next.file.profile}, diff, limits, 10}, sink));
    return sink.text();
}

// The text of the element with this part of the data.
std::string data_text(const std::string& page, const std::string& part) {
    const std::string begin = "id=\"data-" + part + "\">";
    const auto at = page.find(begin);
    REQUIRE(at != page.npos);
    return page.substr(at + begin.size(), page.find("</script>", at) - at - begin.size());
}

}  // namespace

TEST_CASE("The page of a diff has the JSON format's numbers and the text format's words") {
    const std::string page = made_page();
    const Json diff = Json::parse(data_text(page, "diff"));
    const Json words = Json::parse(data_text(page, "words"));
    CHECK(diff["schema"] == diff_schema);
    CHECK(diff["functions"]["entries"][0]["difference"] == 100);
    CHECK(words["tables"].size() == 11);
    CHECK(words["tables"][0]["name"] == "functions");
    CHECK(words["tables"][0]["counts"] == "1 changed, 0 the same");
    CHECK(words["tables"][0]["names"] == Json::array({hostile}));
    CHECK(words["limits"].size() == diff["limits"].size());
    CHECK(diff["limits"][0]["verdict"] == "exceeded");
}

TEST_CASE("Names in a diff stay within its data") {
    const std::string page = made_page();
    for (const char* part : {"diff", "words"})
        CHECK(data_text(page, part).find('<') == std::string::npos);
    CHECK(page.find("<script>alert") == page.npos);
    CHECK(Json::parse(data_text(page, "diff"))["base"]["path"] == hostile);
}

}  // namespace shadowprof::diff_page_test
