// Matching the code of two profiles, and judging changes.
#include <doctest/doctest.h>

#include <algorithm>

#include "report/diff/compare_profiles.h"
#include "report/diff/limits/limit_check.h"
#include "report/diff/test_profiles.h"

namespace shadowprof::profile_diff_test {
namespace {

using Code = std::vector<TestBuild::Instruction>;

const Code loop{{"mov eax, 0x0", 10}, {"add eax, edi", 11}, {"jne 0x1004", 11}, {"ret", 12}};
// The same code at another address, and with an additional instruction.
const Code moved_loop{{"mov eax, 0x0", 20}, {"add eax, edi", 21}, {"jne 0x2004", 21}, {"ret", 22}};
const Code longer_loop{{"mov eax, 0x0", 20},
                       {"add eax, edi", 21},
                       {"xor eax, 0x1", 21},
                       {"jne 0x2004", 21},
                       {"ret", 22}};

const DiffEntry* find(const DiffTable& table, std::string_view name) {
    const auto found = std::find_if(table.entries.begin(), table.entries.end(),
                                    [&](const DiffEntry& e) { return e.name == name; });
    return found == table.entries.end() ? nullptr : &*found;
}

Diff compared(TestBuild& base, TestBuild& next) {
    return compare_profiles(base.file, next.file, 100);
}

// A program of functions with these names, of one instruction each.
TestBuild program(const std::string& path, std::initializer_list<const char*> functions) {
    TestBuild build(path, "");
    std::uint64_t instructions = 1000;
    for (const char* name : functions)
        build.executed(build.function(name, {{"ret", 1}}), instructions -= 100);
    build.exact();
    return build;
}

LimitResult checked(const Diff& diff, std::string_view text, double min_share = 0) {
    const std::vector<Limit> limits{*parse_limit(text)};
    const auto results = check_limits(diff, limits, {.min_share = min_share});
    INFO(text);
    REQUIRE(results);
    return results->front();
}

std::string refusal(const Diff& diff, std::string_view text) {
    const std::vector<Limit> limits{*parse_limit(text)};
    const auto results = check_limits(diff, limits, {});
    INFO(text);
    REQUIRE_FALSE(results);
    return results.error().message;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Two sampled profiles of one build with the functions `hot` and `cold`, of a million instructions.
struct Sampled {
    TestBuild base{"/bin/p", "aa"}, next{"/bin/p", "aa"};

    Sampled(std::uint64_t hot_before, std::uint64_t hot_after, std::optional<double> error,
            std::uint64_t batches = 32) {
        for (auto [build, hot] : {std::pair{&base, hot_before}, std::pair{&next, hot_after}}) {
            build->executed(build->function("hot", loop), hot, error);
            build->executed(build->function("cold", loop), 1'000'000 - hot, error);
            build->sampled(batches);
        }
    }
};

}  // namespace

TEST_CASE("exact profiles of one build are compared to the instruction, by address") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (TestBuild* build : {&base, &next}) {
        const auto f = build->function("f", loop), g = build->function("g", loop);
        build->executed(f, build == &base ? 1000 : 1001);
        build->executed(g, 500);
        build->edge(after(f, 8), after(f, 4), build == &base ? 30 : 31);
        build->exact();
    }
    const Diff diff = compared(base, next);
    CHECK(diff.as_counts);
    CHECK(diff.totals.at(0).base == 1500);
    CHECK(diff.totals.at(0).next == 1501);
    const DiffTable& functions = diff.table(DiffKind::functions);
    CHECK(functions.unit == DiffUnit::instructions);
    CHECK(functions.changed == 1);
    CHECK(functions.same == 1);
    CHECK(functions.entries.front().name == "f");
    CHECK(functions.entries.front().difference() == 1);
    CHECK(functions.entries.front().judgement == Judgement::changed);
    CHECK(functions.entries.front().matched == MatchedBy::address);
    CHECK(diff.table(DiffKind::edges).entries.front().difference() == 1);
    CHECK(checked(diff, "instructions>+0").verdict == Verdict::exceeded);
    CHECK(checked(diff, "instructions>+1").verdict == Verdict::kept);
    CHECK(checked(diff, "instructions>+0.1%").verdict == Verdict::kept);
    CHECK(checked(diff, "function:g>+0").verdict == Verdict::kept);
    CHECK(checked(diff, "edges>+0").verdict == Verdict::exceeded);
    CHECK(checked(diff, "edges<-0").verdict == Verdict::kept);
}

TEST_CASE("in another build functions are the same by name, and their places where the code is") {
    TestBuild base("/old/p", "aa"), next("/new/p", "bb");
    const auto f = base.function("f(int)", loop);
    next.function("inserted", loop);
    const auto moved = next.function("f(int)", moved_loop);
    base.executed(f, 1000), next.executed(moved, 2000);
    base.edge(after(f, 8), after(f, 4), 10), next.edge(after(moved, 8), after(moved, 4), 20);
    base.exact(), next.exact();
    const Diff diff = compared(base, next);
    CHECK(diff.functions.by_offset == 1);
    CHECK(diff.functions.only_next == 1);
    CHECK_FALSE(diff.modules.at(0).same_build);
    const DiffEntry* entry = find(diff.table(DiffKind::functions), "f(int)");
    REQUIRE(entry);
    CHECK(entry->matched == MatchedBy::function);
    CHECK(entry->difference() == 1000);
    const DiffTable& edges = diff.table(DiffKind::edges);
    REQUIRE(edges.entries.size() == 1);
    CHECK(edges.entries[0].matched == MatchedBy::offset);
    CHECK(edges.entries[0].base->value == 10);
    CHECK(edges.entries[0].next->value == 20);
}

TEST_CASE("where the code is another, places are the same by line, counted from the function's") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "bb");
    const auto f = base.function("f", loop), longer = next.function("f", longer_loop);
    base.edge(after(f, 8), after(f, 4), 10), next.edge(after(longer, 12), after(longer, 4), 20);
    const Diff diff = compared(base, next);
    CHECK(diff.functions.by_line == 1);
    REQUIRE(diff.table(DiffKind::edges).entries.size() == 1);
    CHECK(diff.table(DiffKind::edges).entries[0].matched == MatchedBy::line);
    CHECK(diff.table(DiffKind::edges).unmatched == std::array<std::size_t, 2>{});
}

TEST_CASE("other code without lines is compared as a whole, and its edges are said not to be") {
    const auto without_lines = [](Code code) {
        for (auto& instruction : code) instruction.line = 0;
        return code;
    };
    TestBuild base("/bin/p", "aa"), next("/bin/p", "bb");
    const auto f = base.function("f", without_lines(loop));
    const auto longer = next.function("f", without_lines(longer_loop));
    base.executed(f, 100), next.executed(longer, 100);
    base.edge(after(f, 8), after(f, 4), 10), next.edge(after(longer, 12), after(longer, 4), 20);
    base.exact(), next.exact();
    const Diff diff = compared(base, next);
    CHECK(diff.functions.by_name == 1);
    CHECK(diff.table(DiffKind::functions).same == 1);
    CHECK(diff.table(DiffKind::edges).entries.empty());
    CHECK(diff.table(DiffKind::edges).unmatched == std::array<std::size_t, 2>{1, 1});
}

TEST_CASE("files without build-ids are never taken for the same build") {
    TestBuild base("/bin/p", ""), next("/bin/p", "");
    base.executed(base.function("f", loop), 100);
    next.function("inserted", loop);
    next.executed(next.function("f", moved_loop), 100);
    base.exact(), next.exact();
    const Diff diff = compared(base, next);
    REQUIRE(diff.table(DiffKind::functions).entries.size() == 1);
    CHECK(diff.table(DiffKind::functions).entries[0].matched == MatchedBy::function);
}

TEST_CASE("what only one exact profile has is new or gone") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "bb");
    base.executed(base.function("old", loop), 100);
    next.executed(next.function("young", loop), 200);
    base.exact(), next.exact();
    const Diff diff = compared(base, next);
    const DiffTable& functions = diff.table(DiffKind::functions);
    REQUIRE(functions.entries.size() == 2);
    CHECK(functions.entries[0].name == "young");
    CHECK(functions.entries[0].judgement == Judgement::added);
    CHECK(functions.entries[1].judgement == Judgement::gone);
    CHECK(checked(diff, "function:young>+1000%").verdict == Verdict::exceeded);
    CHECK(checked(diff, "function:old>+0").verdict == Verdict::kept);
    CHECK(checked(diff, "function:old<-50%").verdict == Verdict::exceeded);
}

TEST_CASE("counts of merged exact profiles are those of a mean run") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    base.executed(base.function("f", loop), 300);
    next.executed(next.function("f", loop), 100);
    base.exact(), next.exact();
    base.file.profile.run.merged_runs = 3;
    const Diff diff = compared(base, next);
    CHECK(diff.totals[0].base == 100);
    CHECK(diff.table(DiffKind::functions).same == 1);
}

TEST_CASE("sampled profiles are compared by shares, however long they are") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (auto [build, factor] : {std::pair{&base, 1}, std::pair{&next, 7}}) {
        const auto times = static_cast<std::uint64_t>(factor);
        build->executed(build->function("f", loop), 300 * times, 3.0 * factor);
        build->executed(build->function("g", loop), 700 * times, 3.0 * factor);
        build->sampled(32);
    }
    const Diff diff = compared(base, next);
    CHECK_FALSE(diff.as_counts);
    CHECK(diff.totals.empty());
    CHECK(find(diff.table(DiffKind::functions), "f")->base->value == doctest::Approx(0.3));
    CHECK(diff.table(DiffKind::functions).same == 2);
    CHECK(contains(refusal(diff, "instructions>+2%"), "--mode=exact"));
    CHECK(contains(refusal(diff, "function:f>+1000"), "% or pp"));
}

TEST_CASE("a change within the interval is noise and breaks no limit, one outside of it does") {
    Sampled within(500'000, 505'000, 5000);
    const Diff noise = compared(within.base, within.next);
    CHECK(noise.table(DiffKind::functions).noise == 2);
    CHECK(checked(noise, "function:hot>+0%").verdict == Verdict::kept);
    Sampled beyond(500'000, 530'000, 5000);
    const Diff change = compared(beyond.base, beyond.next);
    CHECK(find(change.table(DiffKind::functions), "hot")->judgement == Judgement::changed);
    CHECK(checked(change, "function:hot>+0%").verdict == Verdict::exceeded);
    CHECK(checked(change, "function:hot>+5%").verdict == Verdict::exceeded);
    CHECK(checked(change, "function:hot>+7%").verdict == Verdict::kept);
    CHECK(checked(change, "function:hot>+2pp").verdict == Verdict::exceeded);
    CHECK(checked(change, "function:hot>+4pp").verdict == Verdict::kept);
    CHECK(checked(change, "function:cold<-5%").verdict == Verdict::exceeded);
}

TEST_CASE("of many functions that a pattern names, one is not enough to be an alarm by chance") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    constexpr std::uint64_t others = 200;
    for (TestBuild* build : {&base, &next}) {
        // 1.5 times its own interval.
        const std::uint64_t more = build == &base ? 0 : 2121;
        build->executed(build->function("f0", loop), 100'000 + more, 1000);
        for (std::uint64_t i = 1; i < others; ++i)
            build->executed(build->function("f" + std::to_string(i), loop), 100'000, 1000);
        build->sampled(40);
    }
    const Diff diff = compared(base, next);
    CHECK(checked(diff, "function:f0>+0%").verdict == Verdict::exceeded);
    const LimitResult all = checked(diff, "function:*>+0%");
    CHECK(all.verdict == Verdict::kept);
    CHECK(all.tested == others);
    // Several limits count as many tests, too.
    const std::vector<Limit> both{*parse_limit("function:f0>+0%"), *parse_limit("function:*>+0%")};
    CHECK(check_limits(diff, both, {})->front().verdict == Verdict::kept);
    CHECK(check_limits(diff, both, {.min_share = 0.01})->back().tested == 0);
}

TEST_CASE("without errors a limit is undecidable only where the estimate is beyond it") {
    Sampled few(500'000, 530'000, std::nullopt, 4);
    const Diff diff = compared(few.base, few.next);
    CHECK(diff.table(DiffKind::functions).unjudged == 2);
    CHECK(contains(diff.notes.at(0), "too few samples"));
    CHECK(checked(diff, "function:hot>+5%").verdict == Verdict::undecidable);
    CHECK(checked(diff, "function:hot>+7%").verdict == Verdict::kept);
}

TEST_CASE("what a sampled profile does not have is as uncertain as what the other one has") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    base.executed(base.function("f", loop), 999'000, 100);
    next.executed(next.function("f", loop), 999'000, 100);
    // One function seen in one batch, and one seen in many.
    next.executed(next.function("rare", loop), 1000, 2000);
    next.executed(next.function("often", loop), 100'000, 200);
    base.sampled(32), next.sampled(32);
    const Diff diff = compared(base, next);
    CHECK(find(diff.table(DiffKind::functions), "rare")->judgement == Judgement::noise);
    CHECK(find(diff.table(DiffKind::functions), "often")->judgement == Judgement::added);
}

TEST_CASE("an exact and a sampled profile are compared by shares, with a note") {
    Sampled pair(500'000, 530'000, 5000);
    pair.base.exact();
    const Diff diff = compared(pair.base, pair.next);
    CHECK_FALSE(diff.as_counts);
    CHECK(contains(diff.notes.at(0), "BASE is exact and NEW sampled"));
    CHECK(checked(diff, "function:hot>+5%").verdict == Verdict::exceeded);
}

TEST_CASE("mispredictions and misses of a model are compared by function") {
    TestBuild base("/old/p", "aa"), next("/new/p", "bb");
    next.function("inserted", loop);
    for (TestBuild* build : {&base, &next}) {
        const bool is_base = build == &base;
        const auto f = build->function("f", loop), g = build->function("g", loop);
        Profile& profile = build->file.profile;
        profile.branch_model = BranchModel{.return_stack_entries = 32};
        profile.cache_model = CacheModel{.source = is_base ? "host" : "defaults", .levels = {}};
        for (const auto at : {f, after(f, 8), g})
            profile.branches.push_back({.at = at,
                                        .kind = BranchKind::conditional,
                                        .executions = 100,
                                        .taken = 50,
                                        .mispredictions = is_base || at == g ? 10u : 15u});
        profile.cache.push_back({.at = f, .accesses = 3, .l1_misses = 2});
        build->exact();
    }
    const Diff diff = compared(base, next);
    const DiffTable& table = diff.table(DiffKind::mispredictions);
    CHECK(table.unit == DiffUnit::executions);
    REQUIRE(table.entries.size() == 2);
    CHECK(table.entries[0].name == "f");
    CHECK(table.entries[0].base->value == 20);
    CHECK(table.entries[0].next->value == 30);
    CHECK(table.entries[0].judgement == Judgement::changed);
    CHECK(table.entries[1].judgement == Judgement::same);
    CHECK(contains(diff.table(DiffKind::l1_misses).missing, "parameters of the models differ"));
}

TEST_CASE("counts of models and system calls are totals of exact profiles") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (TestBuild* build : {&base, &next}) {
        const bool is_base = build == &base;
        const auto f = build->function("f", loop);
        build->executed(f, 1000);
        build->exact();
        Profile& profile = build->file.profile;
        profile.cache_model = CacheModel{.source = "host", .levels = {}};
        profile.branch_model = BranchModel{.return_stack_entries = is_base ? 16u : 32u};
        profile.sampling.counters["cache_l1_misses"] = is_base ? 100 : 106;
        profile.sampling.counters["branch_mispredictions"] = 5;
        profile.system_calls = {{f, "write", {}, 2}, {after(f, 4), "write", {}, is_base ? 1u : 2u}};
        profile.system_calls.push_back({f, is_base ? "read" : "pread64", {}, 3});
        for (SystemCall& call : profile.system_calls) {
            call.failed = is_base ? 0 : 1;
            call.bytes = is_base ? 1000 : 1100;
        }
    }
    const Diff diff = compared(base, next);
    CHECK(checked(diff, "cache.l1-misses>+5%").verdict == Verdict::exceeded);
    CHECK(checked(diff, "cache.l1-misses>+6%").verdict == Verdict::kept);
    CHECK(checked(diff, "cache.l1-misses>+6").verdict == Verdict::kept);
    CHECK(checked(diff, "cache.l2-misses>+0").verdict == Verdict::kept);
    CHECK(checked(diff, "syscalls.write>+0").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.read>+0").verdict == Verdict::kept);
    CHECK(checked(diff, "syscalls.read<-2").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.pread64>+100%").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.fsync>+0").verdict == Verdict::kept);
    CHECK(checked(diff, "syscalls.write.bytes>+9%").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.write.bytes>+10%").verdict == Verdict::kept);
    CHECK(checked(diff, "syscalls.write.bytes>+199").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.write.bytes>+199").tests[0].unit == DiffUnit::bytes);
    CHECK(checked(diff, "syscalls.write.failed>+1").verdict == Verdict::exceeded);
    CHECK(checked(diff, "syscalls.fsync.failed>+0").verdict == Verdict::kept);
    CHECK(contains(refusal(diff, "branch.mispredictions>+2%"), "parameters of the models differ"));
    CHECK(std::ranges::count_if(diff.notes, [](const std::string& note) {
              return note.starts_with("branch: the parameters");
          }) == 1);
}

TEST_CASE("what system calls returned is compared only if both profiles know it") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (TestBuild* build : {&base, &next}) {
        const auto f = build->function("f", loop);
        build->executed(f, 1000);
        build->exact();
        build->file.profile.system_calls = {{f, "write", {}, 2}};
    }
    next.file.profile.system_calls[0].failed = 0;
    next.file.profile.system_calls[0].bytes = 10;
    const Diff diff = compared(base, next);
    CHECK(checked(diff, "syscalls.write>+0").verdict == Verdict::kept);
    CHECK(contains(refusal(diff, "syscalls.write.bytes>+0"), "does not know what system calls"));
    CHECK(contains(refusal(diff, "syscalls.read.failed>+0"), "does not know what system calls"));
}

TEST_CASE("limits on counts that a profile lacks are refused, with how to collect them") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (TestBuild* build : {&base, &next}) {
        build->executed(build->function("f", loop), 1000);
        build->exact();
    }
    base.file.profile.cache_model.emplace();
    const Diff diff = compared(base, next);
    CHECK(diff.totals.size() == 3);
    CHECK(contains(refusal(diff, "cache.accesses>+2%"), "--profiles=cache"));
    CHECK(contains(refusal(diff, "branch.taken>+2%"), "--profiles=branch"));
    CHECK(contains(refusal(diff, "syscalls.read>+0"), "--profiles=syscall"));
    Sampled sampled(500'000, 500'000, 100);
    CHECK(contains(refusal(compared(sampled.base, sampled.next), "cache.accesses>+2%"),
                   "only exact profiles"));
}

TEST_CASE("a limit on what neither profile has is refused, with what was meant") {
    Sampled pair(500'000, 500'000, 5000);
    const Diff diff = compared(pair.base, pair.next);
    CHECK(contains(refusal(diff, "function:hott>+5%"), "did you mean 'hot'?"));
    CHECK(contains(refusal(diff, "function:x*>+5%"), "neither profile"));
    CHECK(contains(refusal(diff, "latency.memory>+5%"), "no load latencies"));
}

TEST_CASE("functions of C++ are meant with and without their arguments") {
    TestBuild base("/bin/p", "aa"), next("/bin/p", "aa");
    for (TestBuild* build : {&base, &next}) {
        build->executed(build->function("ns::parse(int)", loop), 100);
        build->executed(build->function("ns::parse(char const*)", loop), 100);
        build->exact();
    }
    const Diff diff = compared(base, next);
    CHECK(checked(diff, "function:ns::parse>+1%").tested == 2);
    CHECK(checked(diff, "function:ns::parse(int)>+1%").tested == 1);
    CHECK(checked(diff, "function:*parse*>+1%").tested == 2);
}

TEST_CASE("files of different names are builds of one program if they share most functions") {
    auto base = program("/old/app-1", {"main", "parse", "check", "write", "gone"});
    auto next = program("/new/app-2", {"main", "parse", "check", "write", "added"});
    const Diff diff = compared(base, next);
    REQUIRE(diff.modules.size() == 1);
    CHECK(diff.modules[0].common_functions == 3);
    CHECK(diff.modules[0].base_path == "/old/app-1");
    REQUIRE(diff.notes.size() == 1);
    CHECK(
        diff.notes[0].starts_with("/new/app-2 in NEW is taken for a build of /old/app-1 in BASE"));
    const DiffTable& functions = diff.table(DiffKind::functions);
    CHECK(find(functions, "parse")->judgement == Judgement::same);
    CHECK(find(functions, "gone")->judgement == Judgement::gone);
}

TEST_CASE("files that share little, or only what all programs have, are two programs") {
    for (const auto& functions :
         {std::initializer_list<const char*>{"main", "_start", "_init", "frame_dummy", "f@plt"},
          std::initializer_list<const char*>{"parse", "check", "one", "two", "three"}}) {
        auto base = program("/old/app-1", functions);
        auto next = program("/new/app-2",
                            {"main", "_start", "_init", "frame_dummy", "f@plt", "parse", "check"});
        const Diff diff = compared(base, next);
        CHECK(diff.modules.size() == 2);
        CHECK(diff.notes.empty());
    }
}

TEST_CASE("which files are compared can be said, against their names as well") {
    auto base = program("/old/app", {"f"});
    auto next = program("/new/other", {"f"});
    CHECK(compared(base, next).modules.size() == 2);
    const Diff diff = compare_profiles(base.file, next.file, 100, {{"app", "/new/other"}});
    REQUIRE(diff.modules.size() == 1);
    CHECK(find(diff.table(DiffKind::functions), "f")->judgement == Judgement::same);
    CHECK(diff.notes.empty());

    // Each of two tools was renamed to the other one.
    for (TestBuild* build : {&base, &next})
        build->file.profile.modules = {{"/bin/a", "1", 10}, {"/bin/b", "2", 10}};
    const Diff crossed = compare_profiles(base.file, next.file, 100, {{"a", "b"}});
    REQUIRE(crossed.modules.size() == 2);
    CHECK(crossed.modules[0].path == "/bin/a");
    CHECK(crossed.modules[0].base_path == "/bin/b");
    CHECK(crossed.modules[1].base_path == "/bin/a");
    CHECK_FALSE(crossed.modules[0].same_build);
}

TEST_CASE("pairs of files are checked") {
    CHECK(parse_file_pair("a=b")->next == "b");
    for (const char* text : {"", "a", "=b", "a="}) CHECK_FALSE(parse_file_pair(text));
    const auto base = program("/old/app", {"f"}), next = program("/new/app", {"f"});
    const auto check = [&](const FilePair& pair) {
        return check_file_pairs({pair}, base.file.profile, next.file.profile);
    };
    CHECK(check({"app", "/new/app"}));
    CHECK(check({"app", "/old/app"}).error().message ==
          "--map: NEW has no code of a file '/old/app'");
    CHECK(check({"b", "app"}).error().message == "--map: BASE has no code of a file 'b'");
}

}  // namespace shadowprof::profile_diff_test
