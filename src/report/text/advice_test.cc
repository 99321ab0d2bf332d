#include "report/text/advice.h"

#include <doctest/doctest.h>

#include "report/testdata/sample_profile.h"

namespace shadowprof::advice_test {
namespace {

std::vector<std::string> advice_for(const Profile& profile,
                                    StackWeight weight = StackWeight::instructions) {
    auto symbols = sample_symbols();
    return advice(profile, symbols, hot_functions(profile, symbols, weight));
}

// Of two functions that have names, and times in the same shares.
Profile rich_profile() {
    Profile profile = sample_profile();
    for (const Stack& stack : profile.stacks)
        profile.times.push_back({stack.frames.back(), 100, stack.instructions});
    return profile;
}

}  // namespace

TEST_CASE("a profile in which nothing is thin gets no advice") {
    CHECK(advice_for(rich_profile()) == std::vector<std::string>{});
}

TEST_CASE("few samples are told, with what gives more") {
    Profile profile = rich_profile();
    profile.overhead.budget_percent = 1;
    profile.sampling.samples = 3;
    CHECK(advice_for(profile) ==
          std::vector<std::string>{
              "Only 3 samples: shares may be far off. Remedies: let it run longer; allow it more "
              "than 1.0% with --budget; count everything with run --mode=exact."});
    profile.run.exit_status.reset();
    profile.overhead.budget_percent = 0;
    CHECK(advice_for(profile) ==
          std::vector<std::string>{
              "Only 3 samples: shares may be far off. Remedies: let it run longer."});
    profile.sampling.samples = 8;
    CHECK(advice_for(profile).empty());
    profile.sampling.samples = 1;
    profile.sampling.exact.emplace();
    CHECK(advice_for(profile).empty());
}

TEST_CASE("exact mode is no remedy where samples found no room") {
    Profile profile = rich_profile();
    profile.overhead.budget_percent = 0;
    profile.sampling.samples = 3;
    profile.sampling.ended["no_room"] = 1;
    CHECK(advice_for(profile) ==
          std::vector<std::string>{
              "Only 3 samples: shares may be far off. Remedies: let it run longer."});
    profile.sampling.ended["no_room"] = 3;
    CHECK(advice_for(profile).empty());
}

TEST_CASE("what exact mode did not cover comes first") {
    Profile profile = rich_profile();
    profile.sampling.exact.emplace().stopped_early = "it runs 32-bit code";
    profile.sampling.ended["input"] = profile.sampling.samples;
    const auto sentences = advice_for(profile);
    REQUIRE(sentences.size() == 2);
    CHECK(sentences[0] == "Counts are partial: it runs 32-bit code.");
}

TEST_CASE("samples that mostly end where input is read can go on") {
    Profile profile = rich_profile();
    profile.sampling.samples = 16;
    profile.sampling.ended["input"] = 7;
    CHECK(advice_for(profile).empty());
    profile.sampling.ended["input"] = 12;
    CHECK(
        advice_for(profile) ==
        std::vector<std::string>{"12 of 16 samples ended where the program read input, and may be "
                                 "short: --record-input goes on there."});
    profile.run.options["record-input"] = "yes";
    CHECK(advice_for(profile).empty());
}

TEST_CASE("code without names is told by where it is") {
    Profile profile = rich_profile();
    const auto module = static_cast<std::uint32_t>(profile.modules.size());
    profile.modules.push_back({.path = "/usr/lib/libbare.so"});
    profile.stacks.push_back({{{module, 0x10}}, profile.stacks[0].instructions, 1});
    profile.times.push_back({{module, 0x10}, 100, profile.stacks.back().instructions});
    auto sentences = advice_for(profile);
    REQUIRE(sentences.size() == 1);
    CHECK(sentences[0].starts_with(
        "48.4% is in functions of /usr/lib/libbare.so that have no names: install its debug"));
    for (const char* path : {"[anon]", "[anon 4711]"}) {
        profile.modules.back().path = path;
        sentences = advice_for(profile);
        REQUIRE(sentences.size() == 1);
        CHECK(sentences[0].starts_with("48.4% is in code without names ([jit"));
        CHECK(sentences[0].find("([jit") != std::string::npos);
    }
    profile.modules.back().path = "[vdso]";
    CHECK(advice_for(profile).empty());
}

TEST_CASE("a Python whose functions were not read is told") {
    Profile profile = rich_profile();
    auto symbols = sample_symbols();
    const CodeLocation eval{0, 0x99'0000};
    symbols.add(eval, {.function = "_PyEval_EvalFrameDefault", .function_start = eval.address}, "");
    profile.stacks.push_back({{eval}, profile.stacks[0].instructions, 1});
    profile.times.push_back({eval, 100, profile.stacks.back().instructions});
    const auto sentences = [&] {
        return advice(profile, symbols, hot_functions(profile, symbols));
    };
    REQUIRE(sentences().size() == 1);
    CHECK(sentences()[0].starts_with("48.4% is in the interpreter of a Python"));
    profile.modules.push_back({.path = "[python] /srv/app.py"});
    CHECK(sentences().empty());
}

TEST_CASE("where time is in other functions than instructions, both are to be looked at") {
    Profile profile = rich_profile();
    profile.times = {{profile.stacks[0].frames.back(), 10, 1'000'000},
                     {profile.stacks[1].frames.back(), 10, 1'000'000}};
    const auto sentences = advice_for(profile);
    REQUIRE(sentences.size() == 1);
    CHECK(sentences[0] ==
          "Instructions are not time: 43.8% of the time is in other functions than the "
          "instructions. See report --weight=time.");
    CHECK(advice_for(profile, StackWeight::time).empty());
}

TEST_CASE("verified samples are known where the program's later state was looked for") {
    SamplingStats sampling;
    CHECK(verified_samples(sampling) == std::nullopt);
    sampling.counters["windows_missed"] = 1;
    CHECK(verified_samples(sampling) == 0);
    sampling.counters["windows_met"] = 12;
    CHECK(verified_samples(sampling) == 12);
}

}  // namespace shadowprof::advice_test
