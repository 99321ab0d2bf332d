#include "report/profile_file/json_splitter.h"

#include <doctest/doctest.h>

namespace shadowprof::json_splitter_test {
namespace {

struct Split {
    std::string elements;  // in their order, one per line
    std::string rest;      // the remaining members, or the error
};

Split split(std::string_view text, JsonLimits limits = {}) {
    Split result;
    JsonSplitter splitter(
        {.use_of =
             [](std::string_view name) {
                 return name == "list"   ? JsonSplitter::Use::split
                        : name == "kept" ? JsonSplitter::Use::keep
                                         : JsonSplitter::Use::drop;
             },
         .element =
             [&](const nlohmann::json& element) { result.elements += element.dump() + "\n"; }},
        limits);
    ByteSource source(text);
    const auto rest = splitter.parse(source);
    result.rest = rest ? rest->dump() : rest.error().message;
    return result;
}

}  // namespace

TEST_CASE("elements of a list are given away, and members are kept or dropped") {
    const Split all =
        split(R"({"x": {"list": [1], "kept": 2}, "list": [{"a": [1, {}]}, 2, [], null], )"
              R"("kept": {"list": [3], "y": {"z": 1.5}}, "y": [[{"kept": 1}]], "list": ["last"]})");
    CHECK(all.elements == "{\"a\":[1,{}]}\n2\n[]\nnull\n\"last\"\n");
    CHECK(all.rest == R"({"kept":{"list":[3],"y":{"z":1.5}},"list":[]})");
    CHECK(split(R"({"list": {"a": 1}})").rest == R"({"list":{"a":1}})");
    CHECK(split(R"({"list": 3, "kept": null})").rest == R"({"kept":null,"list":3})");
}

TEST_CASE("what is no object, or not whole, is refused with its byte") {
    CHECK(split("[1]").rest == "byte 1: it is not a JSON object");
    CHECK(split("17").rest.find("it is not a JSON object") != std::string::npos);
    for (const char* text : {"", "{", "{\"list\": [", "{\"kept\": 1}}", "{\"x\": \xff}"})
        CHECK(split(text).rest.starts_with("byte "));
}

TEST_CASE("what is no JSON is told without the names and places of the library") {
    CHECK(split("<html>").rest == "byte 1: it is not JSON: invalid literal; last read: '<'");
    CHECK(split("{\"x\": [1,]}").rest == "byte 10: it is not JSON: unexpected ']'");
    CHECK(split("{\"x\"").rest == "byte 5: it is not JSON: unexpected end of input");
    CHECK(split("{\"x\": 1e999}").rest ==
          "byte 11: it is not JSON: number overflow parsing '1e999'");
}

TEST_CASE("nesting and the size of parts are limited, not that of the whole") {
    const JsonLimits limits{.nesting = 4, .part_bytes = 100};
    CHECK(split(R"({"x": [[[]]]})", limits).rest == "{}");
    CHECK(split(R"({"x": [[[[]]]]})", limits).rest.find("nested deeper") != std::string::npos);
    CHECK(split(R"({"kept": [[[[]]]]})", limits).rest.find("nested deeper") != std::string::npos);
    std::string many = "0";
    for (int i = 1; i < 200; ++i) many += ",0";
    CHECK(split("{\"list\": [" + many + "]}", limits).rest == "{\"list\":[]}");
    CHECK(split("{\"x\": [" + many + "]}", limits).rest == "{}");
    for (const char* name : {"kept", "list"})
        CHECK(split(fmt::format("{{\"{}\": [[{}]]}}", name, many), limits).rest.find("too large") !=
              std::string::npos);
}

}  // namespace shadowprof::json_splitter_test
