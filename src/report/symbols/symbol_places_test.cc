#include "report/symbols/symbol_places.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <map>

#include "report/testdata/victim_facts.h"

namespace shadowprof::symbol_places_test {
namespace {

std::vector<ModulePlaces> places_of(const char* variable, const std::vector<std::string>& texts) {
    const auto probes = ProbeSet::parse(texts);
    REQUIRE(probes);
    const std::string path = test_input(variable);
    StringPool strings;
    auto symbols = ModuleSymbols::open(path, "", strings);
    REQUIRE(symbols);
    return find_places(*probes, path, **symbols);
}

std::uint64_t bits_at(const std::vector<ModulePlaces>& places, std::uint64_t address) {
    for (const ModulePlaces& each : places)
        if (each.start <= address && address < each.end) return each.place_bits;
    return 0;
}

TEST_CASE("functions, their entries and their lines are where the symbols say") {
    auto facts = victim_facts();
    const auto places = places_of(
        "SYMBOLS_VICTIM",
        {"function == \"caller\" { count() }", "function ~ \"victim::*\" && entry { count() }",
         fmt::format("file ~ \"*symbols_victim.cc\" && line == {} {{ count() }}",
                     facts["probe_line"]),
         "module == \"symbols_victim\" { count() }"});
    const auto caller = facts["caller"], outer = facts["outer"];
    CHECK(bits_at(places, caller) == 0b1001);
    CHECK(bits_at(places, caller + 3) == 0b1001);
    CHECK(bits_at(places, outer) == 0b1010);
    CHECK((bits_at(places, outer + 1) & 0b1011) == 0b1000);
    CHECK((bits_at(places, facts["probe"]) & 0b0100) == 0b0100);
    CHECK((bits_at(places, facts["plain_c_function"]) & 0b0111) == 0);
    // Places without a known function.
    CHECK(bits_at(places, 1) == 0b1000);
    CHECK(bits_at(places, ~std::uint64_t{0} - 1) == 0b1000);
}

TEST_CASE("places are sorted and do not overlap, and tell only where a test holds") {
    const auto places =
        places_of("SYMBOLS_VICTIM", {"function ~ \"*a*\" && line > 30 { count() }"});
    REQUIRE_FALSE(places.empty());
    std::uint64_t behind = 0;
    for (const ModulePlaces& each : places) {
        CHECK(behind <= each.start);
        CHECK(each.start < each.end);
        CHECK(each.place_bits == 1);
        behind = each.end;
    }
    CHECK(places_of("SYMBOLS_VICTIM", {"function == \"nothing\" { count() }"}).empty());
}

TEST_CASE("without symbols functions have no names") {
    auto facts = victim_facts();
    const auto named = places_of("SYMBOLS_VICTIM_STRIPPED", {"function == \"caller\" { count() }"});
    CHECK(bits_at(named, facts["caller"]) == 0);
    const auto nameless = places_of("SYMBOLS_VICTIM_STRIPPED", {"function == \"\" { count() }"});
    CHECK(bits_at(nameless, facts["caller"]) == 1);
}

}  // namespace
}  // namespace shadowprof::symbol_places_test
