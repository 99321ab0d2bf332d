#include "report/html/html_report.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/export/test_profile.h"
#include "report/html/escaped_json.h"
#include "report/testdata/files.h"

namespace shadowprof::html_report_test {
namespace {

using Json = nlohmann::json;

std::string page_of(ProfileFile file) {
    StringSink sink;
    REQUIRE(write_html(file, {}, sink));
    return sink.text();
}

// The text of the elements with data, by name.
std::map<std::string, std::string> data_texts(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data-", end = "</script>";
    std::map<std::string, std::string> parts;
    for (auto at = page.find(begin); at != page.npos; at = page.find(begin, at)) {
        at += begin.size();
        const auto name_end = page.find("\">", at), text = name_end + 2;
        parts[page.substr(at, name_end - at)] = page.substr(text, page.find(end, text) - text);
    }
    return parts;
}

std::map<std::string, Json> data_of(ProfileFile file) {
    std::map<std::string, Json> parts;
    for (const auto& [name, text] : data_texts(page_of(std::move(file))))
        parts[name] = Json::parse(text, nullptr, false);
    return parts;
}

ProfileFile sample_file() {
    return {sample_profile(), sample_symbols()};
}
ProfileFile awkward_file() {
    return {awkward_profile(), awkward_symbols()};
}

// Checks that each row of a table has as many fields as there are columns.
void check_tables(const Json& json) {
    if (json.is_object() && json.contains("columns"))
        for (const Json& row : json["rows"]) CHECK(row.size() == json["columns"].size());
    for (const Json& child : json)
        if (child.is_structured()) check_tables(child);
}

std::vector<std::string> function_names(const Json& functions) {
    std::vector<std::string> names;
    for (const Json& row : functions["functions"]["rows"]) names.push_back(row[0]);
    return names;
}

}  // namespace

TEST_CASE("Data is JSON without anything that HTML or JavaScript could take for its own") {
    StringSink sink;
    EscapedJson escaped(sink);
    REQUIRE(escaped.write("[\"</script>&\xe2\x80\xa8\xe2\x80\xa9\xe2\x82\xac\xe2\"]"));
    CHECK(sink.text() == "[\"\\u003c/script>&\\u2028\\u2029\xe2\x82\xac\xe2\"]");
}

TEST_CASE("All that a profile holds is in the page, in tables that are right") {
    const auto parts = data_of(sample_file());
    for (const char* name :
         {"overview", "functions", "places", "flame", "paths", "branches", "calls", "values",
          "loads", "hazards", "addresses", "streams", "probes", "syscalls"}) {
        REQUIRE_MESSAGE(parts.count(name) == 1, name);
        REQUIRE_MESSAGE(!parts.at(name).is_discarded(), name);
        check_tables(parts.at(name));
    }
    CHECK(function_names(parts.at("functions")).front() == "work");
    CHECK(parts.at("flame")["total"] == 16'000'000);
    CHECK(parts.at("branches")["branches"]["rows"][0][2] == 1'000'000);
    CHECK(parts.at("values")["values"][0][7][0] == Json({"7", 982'000, 4000.5}));
    CHECK(parts.at("overview")["processes"]["rows"].size() == 2);
}

TEST_CASE("Functions and stacks are by time and by instructions where both are known") {
    CHECK(data_of(sample_file()).count("other_flame") == 0);
    ProfileFile file = sample_file();
    std::uint64_t time_ns = 0;
    for (Stack& stack : file.profile.stacks) {
        time_ns += stack.time_ns = 1000 + time_ns;
        file.profile.times.push_back({stack.frames.back(), 1, stack.time_ns});
    }
    const auto parts = data_of(std::move(file));
    check_tables(parts.at("functions"));
    CHECK(parts.at("functions")["unit"] == "instructions");
    CHECK(parts.at("functions")["other_unit"] == "time");
    CHECK(parts.at("flame")["total"] == 16'000'000);
    CHECK(parts.at("other_flame")["total"] == time_ns);
}

TEST_CASE("What a profile has nothing about is left out") {
    ProfileFile file = sample_file();
    file.profile.hazards.clear();
    file.profile.stacks.clear();
    for (auto& [name, calls] : file.profile.syscalls.by_class) calls = 0;
    const auto parts = data_of(std::move(file));
    CHECK(parts.count("hazards") == 0);
    CHECK(parts.count("flame") == 0);
    CHECK(parts.count("syscalls") == 0);
    CHECK(parts.count("streams") == 1);
}

TEST_CASE("An empty profile is a page") {
    const auto parts = data_of(ProfileFile{});
    CHECK(parts.size() == 4);
    CHECK(parts.at("findings")["findings"].empty());
    CHECK(parts.at("functions")["functions"]["rows"].empty());
}

TEST_CASE("Names stay within the data") {
    const std::string page = page_of(awkward_file());
    CHECK(page.find("<script>\"") == page.npos);
    for (const auto& part : data_texts(page)) {
        CHECK_MESSAGE(part.second.find('<') == std::string::npos, part.first);
        CHECK_MESSAGE(Json::accept(part.second), part.first);
    }
    const auto names = function_names(data_of(awkward_file()).at("functions"));
    CHECK(std::count(names.begin(), names.end(), "<script>") == 1);
}

TEST_CASE("Long lists are cut, and say what they leave out") {
    ProfileFile file = sample_file();
    for (std::uint64_t i = 0; i < 2000; ++i)
        file.profile.calls.push_back({{1, 0x1000 + i}, {1, 0x9000}, 1});
    const auto calls = data_of(std::move(file)).at("calls");
    CHECK(calls["shown"] == 500);
    CHECK(calls["total"] == 2001);
    CHECK(calls["calls"]["rows"].size() == 500);
    CHECK(calls["covered"].get<double>() == doctest::Approx(100'499.0 / 102'000));
}

TEST_CASE("Files that only the profile names are not read") {
    TemporaryDirectory directory;
    const auto path = directory.path("secret.c");
    std::string content;
    for (int i = 0; i < 50; ++i) content += "the secret\n";
    write_file(path, content);
    ProfileFile file = sample_file();
    CodeSymbol symbol;
    symbol.function = "main";
    symbol.function_start = 0x1000;
    symbol.file = path;
    symbol.line = 10;
    RecordedSymbols symbols;
    symbols.add({0, 0x2004}, symbol, "nop");
    symbols.add({0, 0x2000}, symbol, "nop");
    file.symbols = std::move(symbols);
    const std::string page = page_of(std::move(file));
    CHECK(page.find("secret.c") != page.npos);
    CHECK(page.find("the secret") == page.npos);
}

}  // namespace shadowprof::html_report_test
