// Conditions on the place of an instruction.
#include "probe/test_probes.h"

namespace shadowprof::place_test {
namespace {

constexpr Place place{.module = "/usr/lib/libc.so.6",
                      .function = "malloc",
                      .file = "/src/malloc/malloc.c",
                      .line = 3301,
                      .entry = true};

std::optional<bool> holds(const std::string& condition, Place at = place) {
    const auto set = probe_set({condition + " { count() }"});
    REQUIRE(set.place_tests() == 1);
    return set.holds(0, at);
}

}  // namespace

TEST_CASE("a place is compared with names, lines and patterns") {
    for (const char* condition :
         {"function == \"malloc\"", "function ~ \"mal*\"", "function != \"free\"",
          "function !~ \"free*\"", "module == \"libc.so.6\"", "module == \"/usr/lib/libc.so.6\"",
          "module ~ \"libc*\"", "\"libc.so.6\" == module", "file == \"malloc.c\"",
          "file ~ \"*/malloc/*\"", "line == 3301", "line >= 3000 && line < 4000", "entry",
          "!(line % 2 == 0)", "entry == true", "line - 3300 == 1"}) {
        CAPTURE(condition);
        CHECK(holds(condition) == true);
    }
    for (const char* condition : {"function == \"mallo\"", "function != \"malloc\"",
                                  "module == \"lib\"", "module != \"libc.so.6\"",
                                  "file == \"malloc\"", "line == 1", "!entry", "line / 0 == 1"}) {
        CAPTURE(condition);
        CHECK(holds(condition) == false);
    }
}

TEST_CASE("without line tables, what needs them is not decided") {
    Place without = place;
    without.has_line = false;
    without.file = "";
    without.line = 0;
    CHECK_FALSE(holds("line == 0", without));
    CHECK_FALSE(holds("file == \"malloc.c\"", without));
    CHECK_FALSE(holds("!(file == \"malloc.c\")", without));
    CHECK_FALSE(holds("function == \"malloc\" && line == 3301", without));
    CHECK(holds("function == \"free\" && line == 3301", without) == false);
    CHECK(holds("line == 3301 && function == \"free\"", without) == false);
    CHECK(holds("entry || line == 3301", without) == true);

    const auto set = probe_set({"entry && reads {count()}", "line == 3301 && reads {count()}"});
    CHECK_FALSE(set.needs_line(0));
    CHECK(set.needs_line(1));
    CHECK_FALSE(set.place_bits(without));
    CHECK(set.place_bits(place) == 0b11);
}

TEST_CASE("tests are as large as they can be, and no larger") {
    CHECK(
        probe_set({"function == \"f\" && (line > 3 || entry) && reads {count()}"}).place_tests() ==
        1);
    CHECK(probe_set({"function == \"f\" && reads && entry {count()}"}).place_tests() == 2);
    CHECK(probe_set({"reads {count() by function == \"f\"}"}).place_tests() == 1);
    CHECK(probe_set({"reads {count()}"}).place_tests() == 0);
    const auto set = probe_set({"entry {count()}", "reads && file == \"a\" {count()}"});
    CHECK(set.place_tests() == 2);
    CHECK(set.needs_line(1));
}

}  // namespace shadowprof::place_test
