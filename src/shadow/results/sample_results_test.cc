#include "shadow/results/sample_results.h"

#include <doctest/doctest.h>

namespace shadowprof::sample_results_test {

TEST_CASE("counts are scaled by the first sample, or at the end if none has counted") {
    ModuleTable modules;
    const ProcessProfile profile({}, modules);
    SampleResults results(profile, std::nullopt);
    results.add_void({});
    results.fix_scale(false);
    CHECK_FALSE(results.fixed_scale());
    SUBCASE("the first sample") {
        results.add({.weight = 3, .instructions = 1000});
        results.fix_scale(false);
        REQUIRE(results.fixed_scale());
        CHECK((*results.fixed_scale())(3000) == 1000);
        results.add({.weight = 1, .instructions = 1000});
        results.fix_scale(true);
        CHECK((*results.fixed_scale())(3000) == 1000);
    }
    SUBCASE("the end") {
        results.fix_scale(true);
        REQUIRE(results.fixed_scale());
        CHECK((*results.fixed_scale())(5) == 5);
    }
}

TEST_CASE("samples without room are told of, once") {
    ModuleTable modules;
    const ProcessProfile profile({}, modules);
    SampleResults results(profile, std::nullopt);
    results.add({.end = SampleEnd::no_room});
    results.add({.end = SampleEnd::no_room});
    Profile filled;
    results.fill_notes(filled, 2);
    REQUIRE(filled.notes.size() == 1);
    CHECK(filled.notes[0].starts_with("2 samples could not be emulated"));
}

}  // namespace shadowprof::sample_results_test
