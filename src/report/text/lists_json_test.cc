#include "report/text/lists_json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/text/captured_text.h"
#include "base/text/text_format.h"
#include "report/testdata/sample_profile.h"
#include "report/text/facts_text.h"

namespace shadowprof::lists_json_test {
namespace {

using Json = nlohmann::json;

struct Both {
    Json json;
    std::string text;
};

Both shown(const ListRequest& request) {
    REQUIRE(check(request));
    const Profile profile = sample_profile();
    auto symbols = sample_symbols();
    StringSink sink;
    REQUIRE(write_lists_json(profile, symbols, request, sink));
    return {Json::parse(sink.text()), captured_text([&](std::FILE* out) {
                TextPage page({.width = 300}, out);
                print_lists(profile, symbols, request, page);
            })};
}

// Whether the words occur in the text in this order.
bool occur_in_order(const std::string& text, const std::vector<std::string>& words) {
    std::size_t at = 0;
    for (const std::string& word : words) {
        at = text.find(word, at);
        if (at == std::string::npos) return false;
        at += word.size();
    }
    return true;
}

}  // namespace

TEST_CASE("JSON has each list, in the order in which they were asked for") {
    ListRequest request{.top = 0};
    for (const auto name : list_names()) request.by.emplace_back(name);
    const auto both = shown(request);
    CHECK(both.json["schema"] == report_schema);
    REQUIRE(both.json["lists"].size() == request.by.size());
    for (std::size_t i = 0; i < request.by.size(); ++i) {
        const Json& list = both.json["lists"][i];
        CHECK(list["list"] == request.by[i]);
        CHECK(list["entries"].is_array());
        CHECK(list["all"] == list["entries"].size());
    }
}

TEST_CASE("functions of JSON have the numbers of the text") {
    for (const std::string sort : {"instructions", "name"}) {
        const auto both = shown({.by = {"function"}, .sort = sort, .top = 0});
        const Json& list = both.json["lists"][0];
        CHECK(list["sort"] == sort);
        CHECK(list["unit"] == "instructions");
        std::vector<std::string> words;
        double sum = 0;
        for (const Json& entry : list["entries"]) {
            words.push_back(percent(entry["share"].get<double>()));
            words.push_back(count_text(entry["weight"].get<std::uint64_t>()));
            sum += entry["share"].get<double>();
        }
        CHECK(words.size() >= 4);
        CHECK_MESSAGE(occur_in_order(both.text, words), both.text);
        CHECK(sum == doctest::Approx(1));
    }
}

TEST_CASE("other lists of JSON have the counts of the text") {
    for (const std::string name : {"edge", "call", "caller", "value", "cache"}) {
        const auto both = shown({.by = {name}, .top = 0});
        const char* member = name == "cache" ? "cost" : "count";
        std::vector<std::string> words;
        for (const Json& entry : both.json["lists"][0]["entries"])
            words.push_back(count_text(entry[member].get<std::uint64_t>()));
        CHECK(!words.empty());
        CHECK_MESSAGE(occur_in_order(both.text, words), name, both.text);
    }
}

TEST_CASE("JSON keeps to --top and the filters, and says how many entries there are") {
    const Json list = shown({.by = {"function"}, .top = 1}).json["lists"][0];
    CHECK(list["entries"].size() == 1);
    CHECK(list["all"] > 1);
    const Json none = shown({.by = {"edge"}, .places = {.function = "nothing"}}).json["lists"][0];
    CHECK(none["entries"].empty());
    CHECK(none["all"] == 0);
}

TEST_CASE("places of JSON are told in full") {
    const Json list = shown({.by = {"function"}}).json["lists"][0];
    for (const Json& entry : list["entries"]) {
        const Json& at = entry["at"];
        for (const char* member : {"function", "offset", "module", "address", "file", "line"})
            CHECK(at.contains(member));
        CHECK(at["address"].is_string());
    }
}

}  // namespace shadowprof::lists_json_test
