#include "report/annotate/annotator.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "report/testdata/victim_facts.h"

namespace shadowprof::annotator_test {
namespace {

// `caller` calls `plain_c_function` and returns to it, seven times.
Profile profile_of(const std::string& path, std::map<std::string, std::uint64_t>& facts,
                   std::uint64_t call, std::uint64_t ret) {
    const CodeLocation caller{0, facts["caller"]}, callee{0, facts["plain_c_function"]};
    const CodeLocation main{0, facts["outer"]};
    Profile profile;
    profile.modules = {{path, "", 0}};
    profile.edges = {{main, caller, EdgeKind::call, 7},
                     {{0, call}, callee, EdgeKind::call, 7},
                     {{0, ret}, {0, call + 5}, EdgeKind::ret, 7}};
    profile.stacks = {{{caller}, 30, 1}, {{caller, callee}, 10, 1}};
    profile.values = {{.at = callee,
                       .operand = "eax",
                       .width_bytes = 4,
                       .count = 7,
                       .invariance = Invariance{1, 1},
                       .top = {{std::vector<std::byte>(4), 7, 0}}}};
    profile.latency = {{.at = {0, call}, .timed = 1}};
    return profile;
}

const AnnotatedInstruction* find(const AnnotatedFunction& function, std::string_view text) {
    const auto found =
        std::find_if(function.code.begin(), function.code.end(),
                     [&](const AnnotatedInstruction& each) { return each.text.starts_with(text); });
    return found == function.code.end() ? nullptr : &*found;
}

// The address of the first instruction of `function` whose text begins with `text`.
std::uint64_t address_of(const std::string& path, std::uint64_t function, std::string_view text) {
    Profile profile;
    profile.modules = {{path, "", 0}};
    RecordedSymbols none;
    const auto annotated = Annotator(profile, none).annotate({0, function});
    const auto* found = find(annotated, text);
    REQUIRE(found != nullptr);
    return found->address;
}

}  // namespace

TEST_CASE("all of a function's code is there, with counts, values, loads and lines") {
    auto facts = victim_facts();
    const std::string path = test_input("SYMBOLS_VICTIM");
    const auto call = address_of(path, facts["caller"], "call");
    const auto ret = address_of(path, facts["plain_c_function"], "ret");
    const Profile profile = profile_of(path, facts, call, ret);
    RecordedSymbols none;
    Annotator annotator(profile, none);
    REQUIRE(annotator.functions().list.size() == 2);

    const auto function = annotator.annotate({0, facts["caller"] + 1});
    CHECK(function.start == CodeLocation{0, facts["caller"]});
    CHECK(function.name == "caller");
    CHECK(function.share == 0.75);
    CHECK(function.incomplete.empty());
    CHECK(function.lines_are_of_file);
    REQUIRE(!function.code.empty());
    CHECK(function.code.front().address == facts["caller"]);
    for (const AnnotatedInstruction& each : function.code) {
        CHECK_MESSAGE(each.executions == 7U, each.text);
        CHECK(each.behind_gap == (&each == &function.code.front()));
        CHECK(each.file.ends_with("/symbols_victim.cc"));
    }
    const auto* site = find(function, "call");
    REQUIRE(site != nullptr);
    CHECK(site->text.ends_with(" <plain_c_function>"));
    CHECK(site->latency == &profile.latency[0]);
    REQUIRE(site->successors.size() == 1);
    CHECK(site->times_left() == 7);
    CHECK_FALSE(site->is_conditional());

    const auto callee = annotator.annotate({0, facts["plain_c_function"]});
    REQUIRE(callee.code.front().values.size() == 1);
    CHECK(callee.code.front().values[0] == &profile.values[0]);
    CHECK(find(callee, "ret") != nullptr);
    // A function that was never executed has counts too.
    const auto other = annotator.annotate({0, facts["outer"]});
    CHECK(other.share == 0);
    CHECK(other.code.back().executions.has_value());
}

TEST_CASE("without the file there is what the profile names, and why") {
    auto facts = victim_facts();
    const Profile profile = profile_of("/no/such/file", facts, 0x5000, 0x6000);
    RecordedSymbols symbols;
    const auto add = [&](std::uint64_t address, std::string_view text) {
        symbols.add({0, address},
                    {.function = "caller",
                     .function_start = facts["caller"],
                     .file = "/etc/passwd",
                     .line = 1},
                    text);
    };
    add(facts["caller"], "push rbx");
    add(0x5000, "call 0x1234");
    Annotator annotator(profile, symbols);
    const auto function = annotator.annotate({0, facts["caller"]});
    CHECK(function.incomplete.find("/no/such/file") != std::string::npos);
    // A file must not be read because a profile names it.
    CHECK_FALSE(function.lines_are_of_file);
    REQUIRE(function.code.size() == 1);
    CHECK(function.code[0].text == "call 0x1234");
    CHECK(function.code[0].executions == 7U);
    CHECK(function.code[0].behind_gap);
}

TEST_CASE("without edges nothing is known of executions") {
    auto facts = victim_facts();
    Profile profile = profile_of(test_input("SYMBOLS_VICTIM"), facts, 0, 0);
    profile.edges.clear();
    RecordedSymbols none;
    const auto function = Annotator(profile, none).annotate({0, facts["caller"]});
    REQUIRE(!function.code.empty());
    CHECK_FALSE(function.code[0].executions.has_value());
}

}  // namespace shadowprof::annotator_test
