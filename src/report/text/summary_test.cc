#include "report/text/summary.h"

#include <doctest/doctest.h>

#include <sstream>

#include "base/text/captured_text.h"
#include "base/text/text_format.h"
#include "report/lists/hot_lists.h"
#include "report/symbols/location_name.h"
#include "report/testdata/sample_profile.h"
#include "report/text/path_text.h"

namespace shadowprof::summary_test {
namespace {

std::string summary(const Profile& profile, SymbolSource& symbols, TextOptions options = {}) {
    return captured_text(
        [&](std::FILE* out) { print_summary(profile, symbols, {}, options, out); });
}

std::string verbose_summary(const Profile& profile) {
    auto symbols = sample_symbols();
    return captured_text(
        [&](std::FILE* out) { print_summary(profile, symbols, {.is_verbose = true}, {}, out); });
}

std::string sample_summary(TextOptions options = {}) {
    auto symbols = sample_symbols();
    return summary(sample_profile(), symbols, options);
}

// The first line that contains `part`; empty if there is none.
std::string line_with(const std::string& text, std::string_view part) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (line.find(part) != std::string::npos) return line;
    return {};
}

void check_size(const std::string& text, std::size_t width) {
    std::istringstream in(text);
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line); ++lines)
        CHECK_MESSAGE(columns(line) <= width, line);
    CHECK(lines <= 85);  // with hazards, addresses, streams and probes
}

// More of everything than the summary has room for, with long names.
Profile crowded_profile() {
    Profile profile = sample_profile();
    std::string long_name(400, 'x');
    profile.run.command.push_back(long_name);
    for (std::uint64_t i = 0; i < 300; ++i) {
        CodeLocation here{0, 0x10000 + 16 * i}, there{0, 0x10008 + 16 * i};
        profile.edges.push_back({here, there, EdgeKind::call, 1000 - i});
        profile.paths.push_back({std::vector<CodeLocation>(100, here), 500, 1000 - i});
        profile.stacks.push_back({{here}, 1000 - i, 1});
        profile.values.push_back({.at = here,
                                  .operand = "rax",
                                  .count = 1000,
                                  .invariance = Invariance{1, 1},
                                  .top = {{little_endian(i, 8), 1000, 0}}});
        profile.notes.push_back(long_name);
        profile.processes.push_back({.pid = 5000, .command = {long_name}, .instructions = i});
        profile.sampling.ended["reason" + std::to_string(i)] = i;
        profile.syscalls.by_name["call" + std::to_string(i)] = i;
    }
    return profile;
}

RecordedSymbols crowded_symbols() {
    auto symbols = sample_symbols();
    for (std::uint64_t i = 0; i < 300; ++i) {
        std::string name = "space::" + std::string(200, 'f') + std::to_string(i) + "(int)";
        std::string file = "/src/" + std::string(100, 'g') + ".cc";
        CodeSymbol symbol{
            .function = name, .function_start = 0x10000 + 16 * i, .file = file, .line = 1};
        symbols.add({0, 0x10000 + 16 * i}, symbol, "mov rax, [rbx+rcx*8+0x12345678]");
    }
    return symbols;
}

}  // namespace

TEST_CASE("what recording input has cost is told where there was any") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    CHECK(line_with(summary(profile, symbols), "recording input") == "");
    auto& counters = profile.sampling.counters;
    counters["input_stops"] = 1250;
    counters["input_stops_ns"] = 12'500'000;
    counters["input_calls"] = 600;
    counters["input_bytes"] = 70'000;
    const std::string line = line_with(verbose_summary(profile), "recording input");
    for (const char* part : {"1250 stops", "12.5 ms", "600 calls", "70.0 k bytes"})
        CHECK_MESSAGE(line.find(part) != std::string::npos, line);
}

TEST_CASE("the summary says what live samples came to, where there were any") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    CHECK(line_with(summary(profile, symbols), "live samples").empty());
    auto& counters = profile.sampling.counters;
    counters["live_samples"] = 40;
    counters["live_samples_cut_by_time"] = 3;
    counters["live_excess_max_us"] = 85;
    counters["live_emulation_ns"] = 20'000'000;
    counters["live_translation_ns"] = 2'000'000;
    const std::string text = verbose_summary(profile);
    CHECK(!line_with(text, "40 live samples, 3 cut by time, 10.0% of their time translation")
               .empty());
    CHECK(!line_with(text, "over the limit by 85 us at most").empty());
    counters["live_excess_max_us"] = 0;
    CHECK(line_with(verbose_summary(profile), "over the limit").empty());
}

TEST_CASE("bursts are told where there were any, and what was changed") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    CHECK(line_with(summary(profile, symbols), "burst") == "");
    profile.sampling.bursts = BurstStats{.every = 1000,
                                         .events = "calls+backedges",
                                         .lengths = {{"edge", 1}, {"path", 50}},
                                         .events_counted = 20'000'000,
                                         .bursts = 19'000};
    const std::string line = line_with(summary(profile, symbols), "bursts");
    for (const char* part :
         {"19.0 k bursts", "every 1000 calls+backedges", "edge 1, path 50", "20.0 M events"})
        CHECK_MESSAGE(line.find(part) != std::string::npos, line);
    CHECK(line_with(summary(profile, symbols), "while it ran") == "");
    profile.sampling.changes = {{1, 2, "disable"}, {2, 2, "enable"}};
    CHECK(line_with(summary(profile, symbols), "2 changes while it ran") != "");
    profile.sampling.bursts->every = 0;
    CHECK(line_with(summary(profile, symbols), "several settings") != "");
}

TEST_CASE("the summary says how many samples the program itself has proven") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    CHECK(line_with(summary(profile, symbols), "proven right") == "");
    profile.sampling.counters["windows_met"] = 12;
    profile.sampling.counters["windows_missed"] = 1;
    profile.sampling.counters["windows_not_reached"] = 2;
    CHECK(line_with(summary(profile, symbols),
                    "counts   16 samples, 16.0 M instructions (0.3% of 5.00 G); 12 proven right") !=
          "");
}

TEST_CASE("the summary says what ran, what was seen and what it cost") {
    std::string text = sample_summary();
    CHECK(text.starts_with("./victim --name=a?b bad utf-8"));
    CHECK(line_with(text, "4711").find("12.5 s, exit status 3") != std::string::npos);
    CHECK(line_with(text, "counts").find("16 samples, 16.0 M instructions (0.3% of 5.00 G)") !=
          std::string::npos);
    CHECK(line_with(text, "ended by").empty());
    CHECK(
        line_with(text, "slowdown about 0.6% of 1.0% allowed; pauses p99 180 us, longest 420 us") !=
        "");
    CHECK(line_with(text, "write 4").find("output 4, benign 3: write 4, getpid 3") !=
          std::string::npos);
    CHECK(!line_with(text, "a note that was there before").empty());
    CHECK(line_with(text, "75.0%   12.0 M  ./victim").find("pid 4711, 12.5 s") !=
          std::string::npos);
    CHECK(line_with(text, "sort -u").find("pid 4713, 2.00 s") != std::string::npos);
    CHECK(!line_with(text, "and 40 more in the profile").empty());
}

TEST_CASE("the summary says whether and when the profile converged, where that was asked for") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    profile.sampling.convergence.reset();
    CHECK(line_with(summary(profile, symbols), "converged").empty());
    profile.sampling.convergence = Convergence{
        .limit_percent = 5, .reached = true, .error_percent = 4.6, .seconds = 1.5, .samples = 40};
    CHECK(line_with(summary(profile, symbols), "converged") ==
          "         converged after 40 samples, 1.50 s: hot edges are certain to 4.6%");
    profile.sampling.convergence->taken_up_again = 2;
    CHECK(line_with(summary(profile, symbols), "converged") ==
          "         converged again after 40 samples, 1.50 s: hot edges are certain to 4.6%");
    profile.sampling.convergence = Convergence{.limit_percent = 5, .error_percent = 7.5};
    CHECK(line_with(summary(profile, symbols), "converged") ==
          "         not converged: hot edges are certain to 7.5%, not 5.0%");
    profile.sampling.convergence = Convergence{.limit_percent = 5};
    CHECK(line_with(summary(profile, symbols), "converged").find("too few") != std::string::npos);
}

TEST_CASE("the summary of one process has no table of processes") {
    Profile profile = sample_profile();
    profile.processes.resize(1);
    profile.other_processes = {};
    auto symbols = sample_symbols();
    CHECK(line_with(summary(profile, symbols), "Processes").empty());
}

TEST_CASE("functions, paths, branches and values come with their shares and places") {
    std::string text = sample_summary();
    CHECK(line_with(text, "93.8%").find("15.0 M  work") != std::string::npos);
    CHECK(line_with(text, "93.8%").find("victim") != std::string::npos);
    std::string path = line_with(text, "76.9%");
    CHECK(path.find("800 k x 5 insns, 2 blocks: work+0x4..+0x10") != std::string::npos);
    CHECK(path.find("victim.cc:21") != std::string::npos);
    CHECK(line_with(text, "4 blocks").find("work..+0x12 -> main+0x15") != std::string::npos);
    std::string branch = line_with(text, "taken");
    CHECK(branch.find("1.00 M  work+0x10") != std::string::npos);
    CHECK(branch.find("taken 90.0%") != std::string::npos);
    std::string value = line_with(text, "mov eax, [rdi+0x8]");
    CHECK(value.find("mov eax, [rdi+0x8]  eax = 7 (98.2% >=90.0%)") != std::string::npos);
    CHECK(!line_with(text, "2 threads: 4712 worker 75.0%, begun in samples 25.0%").empty());
    // The last branch, for which tables of processes and of loads leave no room.
    CHECK(line_with(text, "libplain.so+0x500").empty());
    Profile of_one = sample_profile();
    of_one.processes.clear();
    of_one.other_processes = {};
    of_one.latency.clear();
    auto symbols = sample_symbols();
    CHECK(!line_with(summary(of_one, symbols), "libplain.so+0x500").empty());
}

TEST_CASE("a value that depends on its callers is told with them") {
    Profile p = sample_profile();
    const CodeLocation first{0, 0x1010}, second{0, 0x1015};
    const auto by = [](CodeLocation caller, std::uint64_t value, std::uint64_t count) {
        return CallerValues{.callers = {caller},
                            .count = count,
                            .invariance = Invariance{1, 1},
                            .top = {{little_endian(value, 4), count, 0}}};
    };
    p.values[0].count = 1'000'000;
    p.values[0].invariance = {0.6, 0.55};
    p.values[0].by_caller = {by(first, 7, 600'000), by(second, 9, 400'000)};
    auto symbols = sample_symbols();
    const std::string text = summary(p, symbols);
    const std::string head = line_with(text, "by caller");
    CHECK_MESSAGE(head.find("eax: 100.0% by caller, 60.0% in all") != std::string::npos, text);
    CHECK(line_with(text, "from main+0x10").find("600 k    from main+0x10 = 7 (100.0%)") !=
          std::string::npos);
    CHECK(line_with(text, "from main+0x15").find("= 9 (100.0%)") != std::string::npos);
    check_size(text, 100);

    // One of them is not always the same.
    p.values[0].by_caller[1].invariance.reset();
    p.values[0].by_caller[0].invariance = {0.999, 0.75};
    p.values[0].invariance = {0.3, 0.25};
    CHECK(line_with(summary(p, symbols), "from main+0x10").find("= 7 (99.9% >=75.0%)") !=
          std::string::npos);

    // Knowing the callers gains nothing.
    p.values[0].by_caller = {by(first, 7, 600'000), by(second, 7, 400'000)};
    p.values[0].invariance = {1, 1};
    CHECK(line_with(summary(p, symbols), "by caller").empty());
}

TEST_CASE("values are shown by their type") {
    const auto shown = [](ValueType type, std::vector<std::byte> value) {
        Profile p = sample_profile();
        ValueProfile& v = p.values[0];
        v.width_bytes = static_cast<std::uint32_t>(value.size());
        v.type = type;
        v.top = {{std::move(value), v.count, 0}};
        v.invariance = {0.982, 0.982};
        auto symbols = sample_symbols();
        return line_with(summary(p, symbols), "mov eax, [rdi+0x8]");
    };
    constexpr auto integer = ValueType::Kind::integer, floating = ValueType::Kind::floating,
                   bits = ValueType::Kind::bits;
    const auto has = [](const std::string& line, const char* text) {
        return line.find(text) != std::string::npos;
    };
    CHECK(has(shown({floating, 8}, little_endian(0x3fb999999999999a, 8)), "eax = 0.1 ("));
    CHECK(has(shown({floating, 8}, little_endian(0x3ff0000000000000, 16)), "eax = 1 0 ("));
    CHECK(has(shown({integer, 4}, little_endian(0x700000001, 16)), "eax = 1 7 0 0 ("));
    CHECK(has(shown({bits, 16}, little_endian(0x700000001, 16)), "eax = 0x700000001 ("));
    CHECK(has(shown({integer, 8}, little_endian(~std::uint64_t{0}, 8)), "eax = -1 ("));
}

TEST_CASE("shares come with half the width of their confidence intervals, where it is known") {
    const std::string text = sample_summary();
    CHECK(line_with(text, "93.8%").find("93.8% +-4.8   15.0 M  work") != std::string::npos);
    CHECK(line_with(text, "76.9%").find("76.9% +-1.6    800 k x 5") != std::string::npos);
    // A branch shows the sum of its edges' errors, an upper bound.
    CHECK(line_with(text, "taken 90.0%").find("83.3% +-0.9   1.00 M  work") != std::string::npos);
    const std::string main = line_with(text, "1.00 M  main");
    CHECK(main.find("6.2% ?       1.00 M  main") != std::string::npos);
    Profile exact = sample_profile();
    for (Edge& edge : exact.edges) edge.error.reset();
    exact.function_batches = {};
    exact.sampling.exact.emplace();
    auto symbols = sample_symbols();
    const std::string plain = summary(exact, symbols);
    CHECK(line_with(plain, "93.8%").find("93.8%   15.0 M  work") != std::string::npos);
    CHECK(line_with(plain, "taken 90.0%").find("83.3%   1.00 M  work") != std::string::npos);
}

TEST_CASE("of an exact run no slowdown is told, and no pauses, as none were measured") {
    Profile profile = sample_profile();
    profile.sampling.exact.emplace();
    profile.overhead = {.stops = 262, .profiler_cpu_seconds = 1.5};
    auto symbols = sample_symbols();
    const std::string text = summary(profile, symbols);
    CHECK(line_with(text, "262 stops").find("cost     262 stops; 1.50 s of processor time") !=
          std::string::npos);
    CHECK(line_with(text, "slowdown not measured") != "");
    CHECK(line_with(text, "pause") == "");
}

TEST_CASE("the summary keeps to its width and to one screen, whatever the profile holds") {
    for (std::size_t width : {60u, 80u, 100u, 200u}) {
        check_size(sample_summary({.width = width}), width);
        auto symbols = crowded_symbols();
        check_size(summary(crowded_profile(), symbols, {.width = width}), width);
    }
    check_size(sample_summary({.width = 10}), 60);
    RecordedSymbols nothing;
    check_size(summary(Profile{}, nothing), 100);
}

TEST_CASE("escape sequences appear only if colour is wanted, and names cannot bring their own") {
    CHECK(sample_summary().find('\x1b') == std::string::npos);
    CHECK(sample_summary({.colour = true}).find("\x1b[1m") != std::string::npos);
    Profile profile = sample_profile();
    profile.run.command = {"\x1b[31mred\xc2\x9b"};
    profile.notes = {"\x1b]0;title\a"};
    profile.modules[1].path = "/tmp/\x1b[2J";
    auto symbols = sample_symbols();
    std::string text = summary(profile, symbols);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\xc2\x9b") == std::string::npos);
}

TEST_CASE("functions have both shares, of the instructions and of the time") {
    const Profile profile = sample_profile_with_times();
    auto symbols = sample_symbols();
    const std::string text = summary(profile, symbols);
    CHECK(line_with(text, "then their share of the time") != "");
    CHECK(line_with(text, "93.8%").find("93.8% +-4.8   15.0 M   75.0%  work") != std::string::npos);
    const HotFunctions by_time = hot_functions(profile, symbols, StackWeight::time);
    CHECK(by_time.unit == FunctionWeight::time);
    REQUIRE(by_time.list.size() == 2);
    CHECK(by_time.list[0].share == 0.75);
    CHECK(by_time.list[0].weight == 1'500'000'000);
    CHECK(by_time.list[0].other_share.value() == doctest::Approx(15.0 / 16));
    // 1.96 standard deviations of 300 of 400.
    CHECK(by_time.list[0].error.value() == doctest::Approx(0.0424).epsilon(0.01));
    CHECK(line_with(text, "no sample was").empty());
    CHECK(line_with(text,
                    "2 threads by instructions and time: 4712 worker 75.0%/100.0%, begun in "
                    "samples 25.0%/0%") != "");
}

TEST_CASE("how samples were taken and what that cost is told to who asks for it") {
    const std::string text = verbose_summary(sample_profile());
    CHECK(line_with(text, "ended by").find("size 14, idle 2") != std::string::npos);
    CHECK(line_with(text, "32 stops, 4.00 ms in all; 16 forks; 1234 faults induced") != "");
    CHECK(line_with(text, "pause p50 41 us") != "");
}

TEST_CASE("what is too uncertain to be ranked is not called the hottest") {
    Profile profile = sample_profile_with_times();
    auto symbols = sample_symbols();
    const auto by_time = [&] {
        return captured_text(
            [&](std::FILE* out) { print_summary(profile, symbols, {StackWeight::time}, {}, out); });
    };
    CHECK(line_with(by_time(), "Hottest functions, by time") != "");
    CHECK(line_with(by_time(), " 75.0% +-4.3").find("work") != std::string::npos);
    profile.times[0].looks = 3;
    profile.times[1].looks = 1;
    CHECK(line_with(by_time(), "Functions, too few to rank, by time") != "");
    CHECK(line_with(by_time(), " 75.0% few").find("work") != std::string::npos);
}

TEST_CASE("the time of functions that no sample saw is told") {
    Profile missed = sample_profile_with_times();
    auto symbols = sample_symbols();
    missed.times.push_back({{1, 0x508}, 100, 500'000'000});
    CHECK(hot_functions(missed, symbols).unsampled_time_share == 0.2);
    CHECK(hot_functions(missed, symbols, StackWeight::time).unsampled_time_share == 0.2);
    CHECK(line_with(summary(missed, symbols), "; unsampled 20.0%") != "");
}

TEST_CASE("the time in the program and in the kernel is told") {
    Profile profile = sample_profile_with_times();
    auto symbols = sample_symbols();
    CHECK(line_with(summary(profile, symbols),
                    "time     400 looks: 2.00 s in the program, 0 in the kernel (0%)") != "");
    profile.sampling.counters["looks_in_kernel"] = 200;
    profile.sampling.counters["looks_in_kernel_ns"] = 500'000'000;
    CHECK(line_with(summary(profile, symbols),
                    "400 looks: 1.50 s in the program, 500 ms in the kernel (25.0%)") != "");
}

TEST_CASE("what a profile lacks most is said first") {
    Profile profile = sample_profile();
    auto symbols = sample_symbols();
    profile.sampling.samples = 3;
    profile.sampling.ended["input"] = profile.sampling.samples;
    const std::string text = summary(profile, symbols);
    CHECK(text.starts_with("Only 3 samples"));
    CHECK(text.find("--record-input") == std::string::npos);
    // It is whole, whatever the width.
    CHECK(summary(profile, symbols, {.width = 60}).find("--mode=exact.\n") != std::string::npos);
}

TEST_CASE("a profile without times cannot be ordered by them") {
    CHECK(choose_weight(sample_profile_with_times(), StackWeight::time));
    CHECK(choose_weight(sample_profile(), StackWeight::instructions));
    CHECK(choose_weight(sample_profile(), StackWeight::time).error().code == ErrorCode::not_found);
    CHECK(choose_weight(sample_profile(), {}).value() == StackWeight::instructions);
    CHECK(choose_weight(sample_profile_with_times(), {}).value() == StackWeight::time);
}

TEST_CASE("functions have their time where no sample has a stack") {
    Profile profile = sample_profile_with_times();
    profile.stacks.clear();
    auto symbols = sample_symbols();
    CHECK(choose_weight(profile, StackWeight::time));
    const HotFunctions functions = hot_functions(profile, symbols, StackWeight::time);
    CHECK(functions.unit == FunctionWeight::time);
    REQUIRE(functions.list.size() == 2);
    CHECK(functions.list[0].share == 0.75);
}

TEST_CASE("without stacks functions are ranked by blocks, and the summary says so") {
    Profile profile = sample_profile();
    profile.stacks.clear();
    auto symbols = sample_symbols();
    CHECK(hot_functions(profile, symbols).unit == FunctionWeight::blocks);
    std::string text = summary(profile, symbols);
    CHECK(!line_with(text, "Hottest functions, by basic blocks entered").empty());
}

TEST_CASE("instructions that can make only one value are no discovery") {
    for (const char* constant : {"mov eax, 0x7", "xor eax, eax", "lea rax, [rip+0x10]",
                                 "pxor xmm0, xmm0", "vpxor xmm0, xmm1, xmm1", "sub rax, rax"})
        CHECK_MESSAGE(is_constant_by_design(constant), constant);
    for (const char* variable : {"mov eax, [rdi+0x8]", "mov eax, ebx", "xor eax, ebx", "ret", "",
                                 "lea rax, [rdi+0x10]", "vpxor xmm0, xmm0, xmm1", "pop rax"})
        CHECK_MESSAGE(!is_constant_by_design(variable), variable);
}

TEST_CASE("a branch's edges are one branch") {
    auto branches = hot_branches(sample_profile(), 10);
    REQUIRE(branches.size() == 5);
    CHECK(branches[0].conditional());
    CHECK(branches[0].count == 1'000'000);
    CHECK(branches[0].taken == 900'000);
    CHECK(branches[0].to == CodeLocation{0, 0x2004});
    Profile fan;
    fan.edges = {{{0, 1}, {0, 10}, EdgeKind::indirect, 5},
                 {{0, 1}, {0, 20}, EdgeKind::indirect, 3}};
    auto fanned = hot_branches(fan, 10);
    REQUIRE(fanned.size() == 1);
    CHECK(fanned[0].targets == 2);
    CHECK(fanned[0].to == CodeLocation{0, 10});
    CHECK(fanned[0].to_count == 5);
    // A conditional branch that was never taken is still one.
    fan.edges = {{{0, 1}, {0, 2}, EdgeKind::fall_through, 5}};
    CHECK(hot_branches(fan, 10).at(0).conditional());
}

TEST_CASE("numbers are shown with the digits that mean something") {
    CHECK(short_count(0) == "0");
    CHECK(short_count(9999) == "9999");
    CHECK(short_count(12'345) == "12.3 k");
    CHECK(short_count(999'400) == "999 k");
    CHECK(short_count(999'600) == "1.00 M");
    CHECK(short_count(5e9) == "5.00 G");
    CHECK(percent(0) == "0%");
    CHECK(percent(0.0001) == "<0.1%");
    CHECK(percent(0.431) == "43.1%");
    CHECK(whole_percent(0) == "0%");
    CHECK(whole_percent(0.0049) == "<1%");
    CHECK(whole_percent(0.996) == "100%");
    CHECK(short_duration(0) == "0");
    CHECK(short_duration(41e-6) == "41 us");
    CHECK(short_duration(1.234e-3) == "1.23 ms");
    CHECK(short_duration(12.5) == "12.5 s");
    CHECK(short_duration(3600) == "60 min");
    CHECK(short_duration(86400) == "24 h");
}

TEST_CASE("text is cut between characters") {
    CHECK(fit("short", 10) == "short");
    CHECK(fit("abcdefghijklmnop", 11) == "abcdef..nop");
    CHECK(fit("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 5) ==
          "\xc3\xa4\xc3\xb6..\xc3\xbc");
    CHECK(pad("\xc3\xa4", 3) == "\xc3\xa4  ");
    CHECK(printable("a\nb\x7f") == "a?b?");
}

TEST_CASE("sentences are broken at blanks, words that are too long between characters") {
    using Lines = std::vector<std::string>;
    CHECK(wrapped("", 8) == Lines{});
    CHECK(wrapped("one two three", 8) == Lines{"one two", "three"});
    CHECK(wrapped("one two three", 7) == Lines{"one two", "three"});
    CHECK(wrapped("a verylongword b", 8) == Lines{"a", fit("verylongword", 8), "b"});
    CHECK(columns(wrapped("verylongword", 8).front()) == 8);
}

TEST_CASE("argument lists are left out of names, other parentheses stay") {
    CHECK(without_arguments("work(int)") == "work");
    CHECK(without_arguments("main") == "main");
    CHECK(without_arguments("std::function<int (char)>::operator()(char) const") ==
          "std::function<int (char)>::operator()");
    CHECK(without_arguments("(anonymous namespace)::f(void (*)(int))") ==
          "(anonymous namespace)::f");
    CHECK(without_arguments("a::(anonymous namespace)::g()") == "a::(anonymous namespace)::g");
    CHECK(without_arguments("f(int)::{lambda(auto:1)#1}::operator()<int>(int) const &") ==
          "f(int)::{lambda(auto:1)#1}::operator()<int>");
    CHECK(without_arguments("A::operator void (*)(int)() const [clone .cold] [clone .isra.0]") ==
          "A::operator void (*)(int)");
    CHECK(without_arguments("a& b::operator<< <c>(a&, c)") == "a& b::operator<< <c>");
    CHECK(without_arguments("a::operator<=>(a const&)") == "a::operator<=>");
    CHECK(without_arguments("my_operator(int)") == "my_operator");
    CHECK(without_arguments("f(int)@plt") == "f@plt");
    CHECK(without_arguments("instance void [lib] A::Bar(int32)[Optimized]") ==
          "instance void [lib] A::Bar");
    for (const std::string name :
         {"fmt.(*fmt).fmtInteger", "main.(*List[go.shape.func(int)]).Push", "main.(*T).run-fm",
          "main.F[go.shape.func(int)]", "main.main.func1", "type:.eq.struct { F func() }",
          "go.(*struct { sync.Mutex; f func(int) }).Lock",
          "array_list.ArrayListAligned(u8,null).append", "*Array(Int32)@Indexable(T)#each:Nil",
          "<(A, B) as core::fmt::Debug>::fmt", "<fn(A) -> B as c::D<(E, F)>>::g::{{closure}}",
          "JS:~ (anonymous)", "a::(anonymous namespace)", "f(", "f)", "f(int)::", "operator",
          "operator(", "(int)"})
        CHECK(without_arguments(name) == name);
}

TEST_CASE("a path that does not fit in a line gets one of its own, and keeps its ends") {
    Profile profile;
    profile.modules = {{"/usr/bin/many", "", 0}};
    RecordedSymbols named;
    Path path{{}, 200, 10};
    for (std::uint64_t i = 0; i < 40; ++i) {
        std::string name = fmt::format("f{}", i);
        CodeLocation location{0, 0x1000 + i};
        named.add(location, {.function = name, .function_start = location.address}, "");
        path.blocks.push_back(location);
    }
    profile.paths = {path};
    std::string text = summary(profile, named);
    CHECK(line_with(text, "10 x 200 insns").ends_with("40 blocks"));
    CHECK(line_with(text, " f0 -> f1 -> ").ends_with(" -> f39"));

    std::string narrow = path_text(path.blocks, profile.modules, named, 40);
    CHECK(columns(narrow) <= 40);
    CHECK(narrow.starts_with("f0 -> f1 -> "));
    CHECK(narrow.ends_with(" -> f39"));
    CHECK(narrow.find(" .. ") != std::string::npos);
}

TEST_CASE("blocks of code without names are told by their addresses") {
    RecordedSymbols bounds;
    for (std::uint64_t address : {0x4308u, 0x4324u})
        bounds.add({0, address}, {.function_start = 0x4290}, "");
    std::vector<Module> modules{{"/bin/gzip", "", 0}};
    CHECK(path_text({{0, 0x4308}, {0, 0x4324}}, modules, bounds, 80) == "gzip+0x4308..+0x4324");
    CHECK(function_name(modules, bounds, {0, 0x4308}) == "gzip+0x4290");
}

TEST_CASE("streams are told with their share of references, their length and their functions") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    // 3 * 4000 of 40,000 references.
    const std::string line = line_with(summary(profile, symbols), "x 3 refs");
    for (const char* part : {"30.0%", "4000 x 3 refs", "work(int)"})
        CHECK_MESSAGE(line.find(part) != std::string::npos, line);
    profile.streams.clear();
    CHECK(line_with(summary(profile, symbols), "data streams") == "");
}

TEST_CASE("loads are told with their levels, how their addresses follow, and what they cross") {
    auto symbols = sample_symbols();
    Profile profile = sample_profile();
    const std::string line = line_with(summary(profile, symbols, {.width = 140}), "median 390");
    for (const char* part :
         {"100.0%", "L1/L2 75%, memory 25%", "stride 71% by 64", "12% across pages"})
        CHECK_MESSAGE(line.find(part) != std::string::npos, line);
    profile.latency[0].page_crossings = 0;
    CHECK(line_with(summary(profile, symbols, {.width = 140}), "median 390")
              .find("25% across lines") != std::string::npos);
    profile.latency[0].line_crossings = 0;
    CHECK(line_with(summary(profile, symbols, {.width = 140}), "median 390").find("across") ==
          std::string::npos);
}

TEST_CASE("probes are shown by what they reduce to") {
    const std::string text = sample_summary({.width = 100});
    CHECK(line_with(text, "Probe writers") ==
          "Probe writers, hotlist: 5100 hits, 3 missed, 100 left out");
    CHECK(line_with(text, "0x7f0000001000").find("work+0x4 80%, work+0x10 18%") !=
          std::string::npos);
    CHECK(line_with(text, "Probe sizes") == "Probe sizes, histogram: 30 hits");
    CHECK(
        line_with(text, "mean -1.333").find("-2 to 12, mean -1.333: -3..-2 87%, 0 3%, 8-15 10%") !=
        std::string::npos);
    CHECK(line_with(text, "sum 1180591620717411303424") != "");
    CHECK(line_with(text, "Probe nothing") == "Probe nothing, count: 0 hits");

    Profile profile = sample_profile();
    profile.probes = {{.name = "values",
                       .text = "true { hotlist(rax) }",
                       .reducer = Reducer::hotlist,
                       .value = ProbeDatumKind::signed_number,
                       .hits = 10,
                       .entries = {{.key = {},
                                    .count = 10,
                                    .top = {{~std::uint64_t{0}, 8, 0}, {std::uint64_t{3}, 2, 0}}}}},
                      {.name = "places",
                       .text = "true { count() by at }",
                       .key = ProbeDatumKind::location,
                       .hits = 4,
                       .entries = {{.key = CodeLocation{0, 0x2004}, .count = 3}}}};
    auto symbols = sample_symbols();
    const auto other = summary(profile, symbols, {.width = 80});
    CHECK(other.find("  80.0%        8  -1\n  20.0%        2  3\n") != std::string::npos);
    CHECK(other.find("  75.0%        3  work+0x4\n") != std::string::npos);
}

}  // namespace shadowprof::summary_test
