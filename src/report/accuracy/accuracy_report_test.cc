// Accuracy as text and as JSON.
#include "report/accuracy/accuracy_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/testdata/sample_profile.h"

namespace shadowprof::accuracy_report_test {
namespace {

Profile with_less() {
    Profile profile = sample_profile();
    profile.edges.pop_back();
    profile.edges[0].count /= 2;
    profile.values[0].top[0].count /= 2;
    profile.calls.clear();
    return profile;
}

Accuracy measured(const Profile& full, const Profile& sampled) {
    auto accuracy = measure_accuracy(full, sampled, 5);
    REQUIRE(accuracy);
    return *accuracy;
}

nlohmann::json as_json(const Profile& full, const Profile& sampled) {
    auto symbols = sample_symbols();
    StringSink sink;
    REQUIRE(write_accuracy(measured(full, sampled), {{"full.json", full}, {"s.json", sampled}},
                           symbols, sink));
    return nlohmann::json::parse(sink.text());
}

std::string as_text(const Profile& full, const Profile& sampled) {
    auto symbols = sample_symbols();
    return accuracy_text(measured(full, sampled), {{"full.json", full}, {"s\n.json", sampled}},
                         symbols);
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("JSON has every metric, null where it is left out, with the reason in the notes") {
    const Profile full = sample_profile(), sampled = with_less();
    const auto json = as_json(full, sampled);
    CHECK(json["schema"] == "shadowprof-accuracy/1");
    CHECK(json["full_is_exact"] == false);
    CHECK(json["sampled"]["samples"] == 16);
    const Accuracy accuracy = measured(full, sampled);
    CHECK(json["edges"]["accuracy"].get<double>() == doctest::Approx(*accuracy.edges.value));
    CHECK(json["values"]["difference"].get<double>() == doctest::Approx(*accuracy.values.value));
    CHECK(json["values"]["covered"] == 1.0);
    CHECK(json["values"]["floor"].is_null());
    CHECK(json["invariances"]["difference"] == 0.0);
    CHECK_FALSE(json.contains("floor"));
    CHECK(json["paths"]["accuracy"] == 1.0);
    CHECK(json["calls"].is_null());
    CHECK(json["streams"]["overlap"] == 1.0);
    CHECK(contains(json["notes"].dump(), "SAMPLED has no calls"));
    const auto& worst = json["edges"]["worst"].at(0);
    CHECK(worst["at"].at(0)["name"] == "work+0x10");
    CHECK(worst["at"].at(0)["module"] == "/usr/bin/victim");
    CHECK(worst["at"].at(0)["address"] == "0x2010");
    CHECK(worst["what"] == "taken");
    CHECK(worst["full"].get<double>() > worst["sampled"].get<double>());
}

TEST_CASE(
    "text has a line a metric, the worst entries by name, and nothing that upsets a terminal") {
    const std::string text = as_text(sample_profile(), with_less());
    CHECK(contains(text, "s?.json"));
    CHECK(contains(text, "paths       accuracy   100.00%  1 hot paths"));
    CHECK(contains(text, "calls       overlap    not counted: SAMPLED has no calls"));
    CHECK(contains(text, "streams     overlap    100.00%"));
    CHECK(contains(text, "note     FULL is not the whole truth (mode shadow)"));
    CHECK(contains(text, "work+0x10 -> work+0x4  taken"));
    CHECK_FALSE(contains(text, "Hot paths that are not hot"));
}

TEST_CASE("floors stand beside each metric, in text and JSON") {
    const Profile full = sample_profile(), sampled = with_less();
    Accuracy accuracy = measured(full, sampled);
    REQUIRE(add_floors(accuracy, full, full));
    const AccuracyInputs inputs{
        {"full.json", full}, {"s.json", sampled}, AccuracySide{"again.json", full}};
    auto symbols = sample_symbols();
    const std::string text = accuracy_text(accuracy, inputs, symbols);
    CHECK(contains(text, "floor    again.json: mode shadow"));
    CHECK(contains(text, "sampled    floor"));
    CHECK(contains(text, "paths       accuracy   100.00%  100.00%  1 hot paths"));
    CHECK(contains(text, "calls       overlap    not counted"));
    CHECK(contains(text, "the same seed"));
    StringSink sink;
    REQUIRE(write_accuracy(accuracy, inputs, symbols, sink));
    const auto json = nlohmann::json::parse(sink.text());
    CHECK(json["floor"]["path"] == "again.json");
    CHECK(json["values"]["floor"] == 0.0);
    CHECK(json["edges"]["floor"].get<double>() == doctest::Approx(1));
    CHECK(json["edges"]["accuracy"].get<double>() < 1);
}

TEST_CASE("standard input is read once") {
    CHECK_FALSE(report_accuracy({.full = "-", .sampled = "-"}, stdout));
    CHECK_FALSE(report_accuracy({.full = "a", .sampled = "-", .floor = "-"}, stdout));
}

}  // namespace shadowprof::accuracy_report_test
