#include "report/text/full_lists.h"

#include <doctest/doctest.h>

#include <sstream>

#include "base/text/captured_text.h"
#include "report/testdata/sample_profile.h"
#include "report/text/facts_text.h"

namespace shadowprof::full_lists_test {
namespace {

// Functions `alpha`, `beta` and `gamma` with 1/6, 3/6 and 2/6 of the instructions and a branch
// each.
Profile three_functions() {
    Profile profile;
    profile.modules = {{"/bin/three", "", 0}};
    const CodeLocation alpha{0, 0x1000}, beta{0, 0x2000}, gamma{0, 0x3000};
    profile.stacks = {{{beta}, 300, 1}, {{gamma}, 200, 1}, {{alpha}, 100, 1}};
    profile.edges = {{beta, beta, EdgeKind::taken, 90},
                     {beta, gamma, EdgeKind::fall_through, 1},
                     {alpha, beta, EdgeKind::taken, 20},
                     {alpha, gamma, EdgeKind::fall_through, 20}};
    profile.paths = {{{alpha, gamma}, 5, 10}, {{beta}, 100, 3}};
    return profile;
}

RecordedSymbols three_names() {
    RecordedSymbols symbols;
    const auto add = [&](std::uint64_t address, std::string_view name) {
        symbols.add({0, address}, {.function = name, .function_start = address}, "");
    };
    add(0x1000, "alpha");
    add(0x2000, "beta(int)");
    add(0x3000, "gamma");
    return symbols;
}

std::string printed(const ListRequest& request, const Profile& profile = three_functions()) {
    REQUIRE(check(request));
    auto symbols = three_names();
    return captured_text([&](std::FILE* out) {
        TextPage page({}, out);
        print_lists(profile, symbols, request, page);
    });
}

// Whether the words occur in the text in this order. Each must occur.
bool in_order(const std::string& text, std::initializer_list<std::string_view> words) {
    std::size_t at = 0;
    for (const std::string_view word : words) {
        at = text.find(word, at);
        if (at == std::string::npos) return false;
    }
    return true;
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lists are sorted by their usual key, or by another one") {
    CHECK(in_order(printed({.by = {"function"}}), {"50.0%", "beta", "33.3%", "gamma", "alpha"}));
    CHECK(in_order(printed({.by = {"function"}, .sort = "name"}), {"alpha", "beta", "gamma"}));
    CHECK(in_order(printed({.by = {"edge"}}), {"beta", "taken 98.9%", "alpha", "taken 50.0%"}));
    CHECK(in_order(printed({.by = {"edge"}, .sort = "minority"}), {"alpha", "beta"}));
    CHECK(in_order(printed({.by = {"path"}}), {"x 100 insns", "x 5 insns"}));
    CHECK(in_order(printed({.by = {"path"}, .sort = "count"}), {"x 5 insns", "x 100 insns"}));
}

TEST_CASE("a list is as long as asked for, and says what it leaves out") {
    const auto text = printed({.by = {"function"}, .top = 1});
    CHECK(has(text, "beta"));
    CHECK_FALSE(has(text, "gamma"));
    CHECK(has(text, "and 2 more"));
    CHECK(has(printed({.by = {"function"}, .top = 0}), "alpha"));
}

TEST_CASE("functions are chosen by name, with and without arguments, or by pattern") {
    for (const char* name : {"beta", "beta(int)", "be*", "b?ta", "[a-b]eta"}) {
        const auto text = printed({.by = {"function"}, .places = {.function = name}});
        CHECK_MESSAGE(has(text, "beta"), name);
        CHECK_FALSE_MESSAGE(has(text, "alpha"), name);
        // Shares are still those of the whole.
        CHECK_MESSAGE(has(text, "50.0%"), name);
    }
    // A path belongs to all functions that it runs through.
    CHECK(has(printed({.by = {"path"}, .places = {.function = "gamma"}}), "x 5 insns"));
    CHECK_FALSE(has(printed({.by = {"path"}, .places = {.function = "gamma"}}), "x 100 insns"));
    CHECK(printed({.by = {"function"}, .places = {.function = "de\x1blta"}}) ==
          "no functions in functions 'de?lta'\n");
    CHECK(printed({.by = {"value"}}) == "no values in the profile\n");
}

TEST_CASE("entries are chosen by file, and the choice is named where nothing is left") {
    Profile profile = three_functions();
    profile.modules.push_back({"/usr/lib/libthree.so.1", "", 0});
    profile.stacks.push_back({{{1, 0x500}}, 600, 1});
    const auto own = printed({.by = {"function"}, .places = {.own_only = true}}, profile);
    CHECK(in_order(own, {"25.0%", "beta", "gamma", "alpha"}));
    CHECK_FALSE(has(own, "libthree"));
    CHECK(has(printed({.by = {"function"}, .places = {.module = "libthree*"}}, profile), "50.0%"));
    CHECK(printed(
              {.by = {"function"}, .places = {.function = "f", .module = "m", .own_only = true}},
              profile) == "no functions in functions 'f' in files 'm' in the program's own code\n");
}

TEST_CASE("callers are told by function, with their share of the calls") {
    Profile profile = three_functions();
    const CodeLocation alpha{0, 0x1000}, beta{0, 0x2000}, gamma{0, 0x3000};
    profile.calls = {{beta, gamma, 60}, {beta, gamma, 15}, {alpha, gamma, 25}, {alpha, beta, 70}};
    const auto text = printed({.by = {"caller"}}, profile);
    CHECK(in_order(text, {"75.0%", "75", "gamma", "<- beta", "2 places", "100.0%", "70", "beta",
                          "<- alpha", "25.0%", "25", "gamma", "<- alpha"}));
    CHECK(in_order(printed({.by = {"caller"}, .sort = "share"}, profile),
                   {"100.0%", "75.0%", "25.0%"}));
    const auto of_beta = printed({.by = {"caller"}, .places = {.function = "beta"}}, profile);
    CHECK(has(of_beta, "<- alpha"));
    CHECK_FALSE(has(of_beta, "gamma"));
}

TEST_CASE("probes are shown whole, or as much of each as asked for") {
    Profile profile = sample_profile();
    REQUIRE(profile.probes.size() > 1);
    for (ProbeProfile& probe : profile.probes)
        if (!probe.entries.empty()) probe.entries.push_back(probe.entries.front());
    const auto all = printed({.by = {"probe"}, .top = 0}, profile);
    for (const ProbeProfile& probe : profile.probes) CHECK(has(all, "Probe " + probe.name));
    CHECK(printed({.by = {"probe"}, .top = 1}, profile).size() < all.size());
    CHECK(printed({.by = {"probe"}}) == "no probes in the profile\n");
    CHECK_FALSE(check({.by = {"probe"}, .sort = "count"}));
    CHECK_FALSE(check({.by = {"probe"}, .places = {.function = "f"}}));
}

TEST_CASE("every list can be shown of a profile that has something in every part") {
    Profile profile = sample_profile();
    profile.methods = {{{0, 0x1000}, 1, 2, 3}};  // derived when a profile is written
    const auto script = static_cast<std::uint32_t>(profile.modules.size());
    profile.modules.push_back({"[python] a.py"});
    profile.stacks.push_back({{{script, 7}, {0, 0x1000}}, 100, 1});
    for (const std::string_view name : list_names())
        CHECK_MESSAGE(!has(printed({.by = {std::string(name)}}, profile), "no "), name);
}

TEST_CASE("a kind without a list of its own is a table of its fields") {
    Profile profile = sample_profile();
    const CodeLocation beta{0, 0x1100}, elsewhere{0, 0x9000};
    profile.system_calls = {{beta, "read", {elsewhere, elsewhere}, 30},
                            {elsewhere, "write", {}, 10}};
    const auto text = printed({.by = {"syscall"}}, profile);
    CHECK(has(text, "System calls, by how often they are made"));
    CHECK(has(text, "  75.0%       30  read  "));
    CHECK(has(text, " < "));
    CHECK(text.find("read") < text.find("write"));
    CHECK(printed({.by = {"syscall"}, .top = 1}, profile).find("write") == std::string::npos);
    CHECK(has(printed({.by = {"syscall"}, .top = 1}, profile), "and 1 more"));
    const auto chosen =
        printed({.by = {"syscall"}, .places = {.function = "no_such_function"}}, profile);
    CHECK(has(chosen, "no system calls in functions 'no_such_function'"));
    CHECK(has(printed({.by = {"syscall"}, .sort = "name"}, profile), "read"));
}

TEST_CASE("accesses to memory are sorted by what misses of all levels cost") {
    Profile profile = sample_profile();
    profile.latency_host.reset();
    const CodeLocation beta{0, 0x1100}, elsewhere{0, 0x9000};
    // Many misses of L1, and a tenth as many that reach memory.
    profile.cache = {{elsewhere, 5000, 1000, 0, 0}, {beta, 100, 100, 100, 100}};
    const auto first = [&](const char* sort = "") {
        const std::string text = printed({.by = {"cache"}, .sort = sort, .top = 1}, profile);
        return has(text, "  100 accesses") ? "memory" : has(text, "5000 accesses") ? "L1" : text;
    };
    CHECK(first() == "memory");
    CHECK(first("count") == "L1");
    const auto text = printed({.by = {"cache"}}, profile);
    CHECK(has(text, "by about 10 cycles for a miss of L1, 36 of L2, 300 of L3 (usual latencies)"));
    CHECK(has(text, fmt::format("  77.6%   {}", count_text(100 * (10 + 36 + 300)))));
    // Where memory is hardly slower than L3, the misses of L1 cost most.
    profile.latency_host = {
        .levels = {{"L1", 0, 30, 1}, {"L2", 35, 50, 1}, {"L3", 60, 80, 1}, {"memory", 90, 110, 1}}};
    CHECK(first() == "L1");
    CHECK(has(
        printed({.by = {"cache"}}, profile),
        "by about 20 cycles for a miss of L1, 30 of L2, 30 of L3 (as measured on its machine)"));
    // A level that was not told from its neighbour says nothing.
    profile.latency_host->levels[2].name = "L3/memory";
    CHECK(first() == "memory");
}

TEST_CASE("unknown lists and keys are refused with what there is") {
    const auto refused = [](ListRequest request) {
        const auto result = check(request);
        REQUIRE_FALSE(result);
        CHECK(result.error().code == ErrorCode::usage);
        return result.error().message;
    };
    CHECK(has(refused({.by = {"functions"}}), "did you mean 'function'?"));
    CHECK(has(refused({.by = {"function", "path"}, .sort = "lenght"}), "--by=function --sort"));
    CHECK(has(refused({.by = {"path"}, .sort = "lenght"}), "did you mean 'length'?"));
}

}  // namespace shadowprof::full_lists_test
