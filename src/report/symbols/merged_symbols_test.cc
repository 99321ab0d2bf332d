// Names from several profiles, after their modules were renumbered.
#include "report/symbols/merged_symbols.h"

#include <doctest/doctest.h>

#include "profile/merge/merge.h"
#include "report/profile_file/profile_reader.h"
#include "report/profile_file/profile_writer.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::merged_symbols_test {
namespace {

CodeSymbol named(std::string_view function, std::uint32_t line = 0) {
    CodeSymbol symbol;
    symbol.function = function;
    symbol.function_start = 0x1000;
    symbol.line = line;
    return symbol;
}

const std::vector<Module> first = {{"/bin/a", "aa", 1}, {"/lib/b", "bb", 1}};
const std::vector<Module> second = {{"/lib/b", "bb", 1}, {"[anon]", "", 0}, {"/bin/a", "aa", 1}};

}  // namespace

TEST_CASE("locations keep their names when modules get other numbers") {
    RecordedSymbols in_first, in_second;
    in_first.add({0, 0x1000}, named("main"), "push rbp");
    in_second.add({0, 0x1000}, named("helper"), "ret");
    MergedSymbols merged;
    merged.add(first, in_first);
    merged.add(second, in_second);
    merged.number_as(second);
    CHECK(merged.symbol({2, 0x1000}).function == "main");
    CHECK(merged.instruction_text({2, 0x1000}) == "push rbp");
    CHECK(merged.symbol({0, 0x1000}).function == "helper");
    CHECK(merged.symbol({1, 0x1000}).function.empty());
    CHECK(merged.symbol({9, 0x1000}).function.empty());
    merged.number_as({{"/bin/other", "cc", 1}});
    CHECK(merged.symbol({0, 0x1000}).function.empty());
}

TEST_CASE("whoever knows more is believed, in whatever order they are asked") {
    RecordedSymbols nothing, name, name_and_line;
    nothing.add({0, 0x1000}, CodeSymbol{}, "nop");
    name.add({0, 0x1000}, named("main"), "");
    name_and_line.add({0, 0x1000}, named("main", 7), "");
    std::vector<const RecordedSymbols*> order = {&name, &name_and_line, &nothing};
    std::sort(order.begin(), order.end());
    do {
        MergedSymbols merged;
        for (const auto* symbols : order) merged.add(first, *symbols);
        merged.number_as(first);
        CHECK(merged.symbol({0, 0x1000}).line == 7);
        CHECK(merged.instruction_text({0, 0x1000}) == "nop");
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("what is only in merged profiles survives the file") {
    Profile sum = sample_profile();
    merge_into(sum, sample_profile());
    auto symbols = sample_symbols();
    StringSink sink;
    REQUIRE(write_profile(sum, symbols, sink));
    const auto file = parse_profile(sink.text());
    REQUIRE(file);
    CHECK(file->profile.run.merged_runs == 2);
    REQUIRE(file->profile.values.at(0).absent_error);
    CHECK(*file->profile.values[0].absent_error == doctest::Approx(*sum.values[0].absent_error));
}

}  // namespace shadowprof::merged_symbols_test
