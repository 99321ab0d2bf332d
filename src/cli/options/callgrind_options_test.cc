#include "cli/options/callgrind_options.h"

#include <doctest/doctest.h>

#include <string_view>

namespace shadowprof::callgrind_options_test {
namespace {

const char* variable(const char* name) {
    return std::string_view(name) == "KIND" ? "10%p" : nullptr;
}

Result<CallgrindRequest> parse(std::vector<std::string> words) {
    return parse_callgrind(words, variable);
}

std::string failure_of(std::vector<std::string> words) {
    const auto request = parse(std::move(words));
    return request ? "" : request.error().message;
}

}  // namespace

TEST_CASE("a bare program gets callgrind's defaults") {
    const auto request = parse({"prog", "--dump-instr=yes"});
    REQUIRE(request);
    CHECK(request->options.command == std::vector<std::string>{"prog", "--dump-instr=yes"});
    CHECK(request->options.mode == SamplingMode::exact);
    CHECK(request->options.profiles == ProfileKinds::of<EdgeList, CallCostList>());
    CHECK(request->options.counts_at_start);
    CHECK(request->options.threads_count_at_start);
    CHECK_FALSE(request->options.follow_forks);
    CHECK_FALSE(request->options.caches);
    CHECK(request->output == "callgrind.out.%p");
    CHECK_FALSE(request->details.instructions);
    CHECK(request->details.lines);
    CHECK_FALSE(request->details.jumps);
    CHECK(request->warnings.empty());
}

TEST_CASE("options reach their fields") {
    const auto request =
        parse({"--tool=callgrind", "-q", "--callgrind-out-file=o.%q{KIND}.%p", "--dump-instr=yes",
               "--dump-line=no", "--collect-jumps=yes", "--compress-strings=no",
               "--combine-dumps=yes", "--skip-plt=no", "--log-file=l", "--log-fd=5",
               "--instr-atstart=no", "--collect-atstart=no", "--cache-sim=yes", "--branch-sim=yes",
               "--trace-children=yes", "prog"});
    REQUIRE(request);
    CHECK(request->quiet);
    CHECK(request->output == "o.10%%p.%p");
    CHECK(request->log == "l");
    CHECK(request->log_descriptor == 5);
    CHECK(request->details.instructions);
    CHECK_FALSE(request->details.lines);
    CHECK(request->details.jumps);
    CHECK_FALSE(request->details.compresses_names);
    CHECK_FALSE(request->details.skips_linkage_tables);
    CHECK(request->combines_parts);
    CHECK_FALSE(request->options.counts_at_start);
    CHECK_FALSE(request->options.threads_count_at_start);
    CHECK(request->options.follow_forks);
    CHECK(request->options.profiles ==
          ProfileKinds::of<EdgeList, CallCostList, CacheList, BranchList>());
}

TEST_CASE("functions to count in take the place of toggles") {
    const auto request =
        parse({"--collect-atstart=no", "--toggle-collect=f*", "--toggle-collect=g", "prog"});
    REQUIRE(request);
    CHECK(request->options.threads_count_at_start);
    CHECK(request->options.count_in == std::vector<std::string>{"f*", "g"});
}

TEST_CASE("sizes of caches imply their model") {
    const auto request = parse({"--D1=32768,8,64", "--LL=8388608,16,64", "prog"});
    REQUIRE(request);
    CHECK(request->options.profiles.has<CacheList>());
    REQUIRE(request->options.caches);
    REQUIRE(request->options.caches->levels.size() == 2);
    CHECK(request->options.caches->levels[1].size_bytes == 8388608);
    for (const char* wrong : {"32768", "32768,8", "32768,8,63", "100,3,64", "0,8,64", "x,8,64", ""})
        CHECK(
            failure_of({std::string("--D1=") + wrong, "--LL=8388608,16,64", "prog"}).find("--D1") !=
            std::string::npos);
    CHECK_FALSE(parse({"--D1=32768,8,64", "prog"}));
    CHECK_FALSE(parse({"--D1=32768,8,32", "--LL=8388608,16,64", "prog"}));
}

TEST_CASE("options without effect are warned of if they would change counts") {
    const auto request =
        parse({"--vgdb=no", "--separate-recs=1", "--dump-every-bb=0", "--separate-threads=yes",
               "--separate-callers3=main", "--fn-skip=f", "--fair-sched=yes", "prog", "--I1=1"});
    REQUIRE(request);
    CHECK(request->warnings ==
          std::vector<std::string>{"--separate-threads=yes has no effect here",
                                   "--separate-callers3=main has no effect here",
                                   "--fn-skip=f has no effect here"});
    CHECK(request->options.command == std::vector<std::string>{"prog", "--I1=1"});
}

TEST_CASE("what makes no sense is refused") {
    for (const auto& words :
         std::vector<std::vector<std::string>>{{},
                                               {"--dump-instr=yes"},
                                               {"--dump-instr=maybe", "prog"},
                                               {"--tool=memcheck", "prog"},
                                               {"--no-such-option=1", "prog"},
                                               {"--log-fd=x", "prog"},
                                               {"--callgrind-out-file=", "prog"},
                                               {"--callgrind-out-file=%q{KIND", "prog"},
                                               {"--log-file=%q{UNSET}", "prog"}})
        CHECK_FALSE(parse(words));
    CHECK(failure_of({"--dump-insrt=yes", "prog"}).find("--dump-instr") != std::string::npos);
}

}  // namespace shadowprof::callgrind_options_test
