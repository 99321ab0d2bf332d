#include "cli/options.h"

#include <doctest/doctest.h>

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// The words of one command line behind `run`.
Result<RunRequest> parse(std::vector<std::string> words, std::string_view environment = "") {
    return parse_run(words, environment);
}

std::string failure_of(std::vector<std::string> words, std::string_view environment = "") {
    auto request = parse(std::move(words), environment);
    return request ? "" : request.error().message;
}

bool mentions(const std::string& message, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        if (message.find(part) == std::string::npos) return false;
    return true;
}

TEST_CASE("a bare program gets the documented defaults") {
    const auto request = parse({"prog"});
    REQUIRE(request);
    CHECK(request->output == "shadowprof.json");
    CHECK_FALSE(request->quiet);
    CHECK(request->options.command == std::vector<std::string>{"prog"});
    CHECK(request->options.mode == SamplingMode::automatic);
    CHECK(request->options.profiles == ProfileKinds{true, true, true, true});
    CHECK(request->options.load == 0.25);
    CHECK(request->options.threads == ThreadScope::all);
    CHECK_FALSE(request->options.duration);
    CHECK_FALSE(request->options.max_samples);
    CHECK_FALSE(request->options.seed);
}

TEST_CASE("every option of this version reaches its field") {
    const auto request = parse(
        {"-o", "out-%p.json", "--mode=shadow", "--engine", "emulator", "--profiles=path,call",
         "--sample-size=10k", "--load=1.5", "--duration=1.5s", "--delay", "20ms", "--max-samples=7",
         "--follow-forks=no", "--threads=main", "--seed=0x2a", "-q", "-v", "--progress", "prog"});
    REQUIRE(request);
    CHECK(request->output == "out-%p.json");
    CHECK(request->quiet);
    const RunOptions& options = request->options;
    CHECK(options.mode == SamplingMode::shadow);
    CHECK(options.profiles == ProfileKinds{false, true, false, true});
    CHECK(options.sample_size == 10'000);
    CHECK(options.load == 1.5);
    CHECK(options.duration == 1500ms);
    CHECK(options.delay == 20ms);
    CHECK(options.max_samples == 7);
    CHECK(options.threads == ThreadScope::main);
    CHECK(options.seed == 42);
    CHECK(options.verbose);
    CHECK(request->progress == Progress::always);
}

TEST_CASE("options behind the program belong to the program") {
    const auto request = parse({"-q", "prog", "-v", "--load=9", "--", "-o", "x", "--help"});
    REQUIRE(request);
    CHECK(request->options.command ==
          std::vector<std::string>{"prog", "-v", "--load=9", "--", "-o", "x", "--help"});
    CHECK(request->options.load == 0.25);
    CHECK_FALSE(request->help);
}

TEST_CASE("what follows -- is the program even if it looks like an option") {
    const auto request = parse({"-q", "--", "--seed=3", "-v"});
    REQUIRE(request);
    CHECK(request->options.command == std::vector<std::string>{"--seed=3", "-v"});
    CHECK_FALSE(request->options.seed);
}

TEST_CASE("a program named like a subcommand is a program") {
    const auto request = parse({"report", "run"});
    REQUIRE(request);
    CHECK(request->options.command == std::vector<std::string>{"report", "run"});
}

TEST_CASE("the last of two equal options wins, and a bad one before it is still an error") {
    CHECK(parse({"--load=1", "--load=2", "prog"})->options.load == 2);
    CHECK(parse({"--progress", "--no-progress", "prog"})->progress == Progress::never);
    CHECK(parse({"--no-progress", "--progress", "prog"})->progress == Progress::always);
    CHECK(mentions(failure_of({"--load=x", "--load=2", "prog"}), {"--load 'x'"}));
}

TEST_CASE("a bad value names the option, the value and what is accepted") {
    CHECK(mentions(failure_of({"--load=fast", "prog"}), {"--load", "'fast'", "from 0.0625 to 64"}));
    CHECK(mentions(failure_of({"--load=0.01", "prog"}), {"--load", "'0.01'", "from 0.0625"}));
    CHECK(mentions(failure_of({"--sample-size=999", "prog"}), {"--sample-size", "'999'", "1000"}));
    CHECK(mentions(failure_of({"--duration=5", "prog"}), {"--duration", "'5'", "us, ms, s or m"}));
    CHECK(mentions(failure_of({"--delay=-1s", "prog"}), {"--delay", "'-1s'"}));
    CHECK(
        mentions(failure_of({"--max-samples=0", "prog"}), {"--max-samples", "'0'", "at least 1"}));
    CHECK(mentions(failure_of({"--seed=-1", "prog"}), {"--seed", "'-1'", "2^64"}));
    CHECK(mentions(failure_of({"--mode=fork", "prog"}), {"--mode", "'fork'", "auto, shadow"}));
    CHECK(mentions(failure_of({"--threads=2", "prog"}), {"--threads", "'2'", "all, main"}));
    CHECK(mentions(failure_of({"--profiles=edge,pth", "prog"}),
                   {"--profiles", "'edge,pth'", "path"}));
    CHECK(mentions(failure_of({"--profiles=edge,,path", "prog"}), {"--profiles", "empty"}));
    CHECK(mentions(failure_of({"--profiles=", "prog"}), {"--profiles"}));
    CHECK(mentions(failure_of({"-o", "", "prog"}), {"--output", "file"}));
}

TEST_CASE("what a later version will do is refused as such, not as a typing error") {
    const std::vector<std::string> later[] = {
        {"--mode=burst", "prog"},        {"--engine=step", "prog"},   {"--profiles=latency", "p"},
        {"--profiles=edge,stream", "p"}, {"--follow-forks=yes", "p"}, {"--budget=1%", "prog"},
        {"--burst=2ms/1s", "prog"},      {"--every=100", "prog"},     {"--until-converged", "prog"},
        {"--burst-length=edge:5", "p"},
    };
    for (const auto& words : later) {
        CAPTURE(words.front());
        const auto request = parse(words);
        REQUIRE_FALSE(request);
        CHECK(request.error().code == ErrorCode::unsupported);
        CHECK(mentions(request.error().message, {"not in this version"}));
    }
}

TEST_CASE("a bad budget is a bad value, not a missing feature") {
    CHECK(mentions(failure_of({"--budget=much", "prog"}), {"--budget", "'much'", "percentage"}));
}

TEST_CASE("all profiles leaves a note about those that are missing; a later list takes it back") {
    const auto all = parse({"--profiles=all", "prog"});
    REQUIRE(all);
    REQUIRE(all->notes.size() == 1);
    CHECK(mentions(all->notes.front(), {"latency", "stream", "hazard"}));
    CHECK(parse({"--profiles=all", "--profiles=edge", "prog"})->notes.empty());
}

TEST_CASE("the method profile takes the edges and calls that it is derived from") {
    CHECK(parse({"--profiles=method", "prog"})->options.profiles ==
          ProfileKinds{true, false, false, true});
    CHECK(parse({"--profiles=value,method", "prog"})->options.profiles ==
          ProfileKinds{true, false, true, true});
}

TEST_CASE("an unknown option is not taken for the program") {
    CHECK(mentions(failure_of({"--lod=1", "prog"}), {"'--lod'", "'--load'"}));
    CHECK(mentions(failure_of({"-x", "prog"}), {"'-x'"}));
    CHECK(mentions(failure_of({"--load"}), {"--load"}));
}

TEST_CASE("without a program there is nothing to run") {
    CHECK(mentions(failure_of({}), {"no program"}));
    CHECK(mentions(failure_of({"-q", "--"}), {"no program"}));
    CHECK(parse({"--help"})->help);
}

TEST_CASE("SHADOWPROF_OPTIONS gives options, and the command line wins") {
    const auto request = parse({"--load=2", "--progress", "prog"},
                               "--load 1 -o 'my profile.json' --seed=5 --no-progress");
    REQUIRE(request);
    CHECK(request->options.load == 2);
    CHECK(request->output == "my profile.json");
    CHECK(request->options.seed == 5);
    CHECK(request->progress == Progress::always);
    CHECK(request->options.command == std::vector<std::string>{"prog"});
}

TEST_CASE("SHADOWPROF_OPTIONS cannot name the program, and its errors name it") {
    CHECK(mentions(failure_of({"prog"}, "-q other"), {"SHADOWPROF_OPTIONS", "'other'"}));
    CHECK(mentions(failure_of({"prog"}, "-q --"), {"SHADOWPROF_OPTIONS", "'--'"}));
    CHECK(mentions(failure_of({"prog"}, "--load=x"), {"SHADOWPROF_OPTIONS", "--load 'x'"}));
    CHECK(mentions(failure_of({"prog"}, "-o 'x"), {"SHADOWPROF_OPTIONS", "closed"}));
    CHECK(mentions(failure_of({"prog"}, "--load"), {"SHADOWPROF_OPTIONS", "--load"}));
}

TEST_CASE("attach takes one process id, before, between or behind its options") {
    const std::vector<std::string> orders[] = {
        {"-q", "--load=2", "123"}, {"123", "-q", "--load=2"}, {"-q", "123", "--load", "2"}};
    for (const auto& words : orders) {
        const auto request = parse_attach(words, "--load=1 --seed=4");
        REQUIRE(request);
        CHECK(request->options.attach_to == 123);
        CHECK(request->options.command.empty());
        CHECK(request->options.load == 2);
        CHECK(request->options.seed == 4);
        CHECK(request->quiet);
        CHECK(describe(*request).at("attach") == "123");
    }
    CHECK(parse_attach(std::vector<std::string>{"--", "7"}, "")->options.attach_to == 7);
    CHECK(parse_attach(std::vector<std::string>{"--help"}, "")->help);
}

TEST_CASE("what attach cannot take is named with what is accepted") {
    const auto failure = [](std::vector<std::string> words, std::string_view environment = "") {
        auto request = parse_attach(words, environment);
        return request ? "" : request.error().message;
    };
    for (const char* word : {"", "0", "self", "12x", "0x10", "1.5", "4294967296"}) {
        CAPTURE(word);
        CHECK(mentions(failure({word}), {fmt::format("'{}'", word), "running process"}));
    }
    CHECK(mentions(failure({}), {"no process"}));
    CHECK(mentions(failure({"1", "2"}), {"'2'"}));
    CHECK(mentions(failure({"--lod=1", "2"}), {"'--lod'", "'--load'"}));
    CHECK(mentions(failure({"2", "-x"}), {"'-x'"}));
    CHECK(mentions(failure({"2"}, "3"), {"SHADOWPROF_OPTIONS", "'3'"}));
    CHECK(mentions(failure({"--mode=exact", "2"}), {"--mode=exact", "run"}));
    CHECK(mentions(failure({"--follow-forks=yes", "2"}), {"not in this version"}));
    CHECK(failure({"--mode=shadow", "2"}, "--mode=exact").empty());
}

TEST_CASE("the help shows what works, and nothing that does not") {
    const std::string help = run_help();
    for (const char* name : {"-o, --output FILE", "--mode", "--profiles", "--sample-size", "--load",
                             "--duration", "--delay", "--max-samples", "--threads", "--seed",
                             "--quiet", "--verbose", "--no-progress", "SHADOWPROF_OPTIONS"}) {
        CAPTURE(name);
        CHECK(help.find(name) != std::string::npos);
    }
    for (const char* name : {"--budget", "--burst", "--every", "--until-converged"}) {
        CAPTURE(name);
        CHECK(help.find(name) == std::string::npos);
    }
}

TEST_CASE("the profile is told the options as they were understood") {
    const auto text =
        describe(*parse({"--profiles=call,edge", "--load=0.5", "--duration=2s", "prog"}));
    CHECK(text.at("profiles") == "edge,call,method");
    CHECK(text.at("load") == "0.5");
    CHECK(text.at("duration") == "2000000us");
    CHECK(text.at("mode") == "auto");
    CHECK(text.count("max-samples") == 0);
}

}  // namespace
}  // namespace shadowprof
