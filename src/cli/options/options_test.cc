#include "cli/options/options.h"

#include <doctest/doctest.h>

#include "cli/options/option_table.h"

namespace shadowprof::options_test {
namespace {

using namespace std::chrono_literals;

// Parses the words of one command line behind `run`.
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
    CHECK(request->options.profiles == ProfileKinds{});
    CHECK(request->options.load == std::nullopt);
    CHECK(request->options.threads == ThreadScope::all);
    CHECK_FALSE(request->options.duration);
    CHECK_FALSE(request->options.max_samples);
    CHECK_FALSE(request->options.seed);
    CHECK(request->options.record_input == RecordInput::as_needed);
    CHECK_FALSE(request->options.bursts);
    CHECK(request->control.empty());
}

TEST_CASE("every option of this version reaches its field") {
    const auto request = parse({"-o",
                                "out-%p.json",
                                "--mode=shadow",
                                "--engine",
                                "emulator",
                                "--profiles=path,call",
                                "--sample-size=10k",
                                "--load=1.5",
                                "--duration=1.5s",
                                "--delay",
                                "20ms",
                                "--max-samples=7",
                                "--until-converged=2.5%",
                                "--follow-forks=no",
                                "--threads=main",
                                "--record-input",
                                "--seed=0x2a",
                                "--value-callers=3",
                                "--translate-ahead=no",
                                "--probe=reads { count() }",
                                "--probe=b: writes { count() }",
                                "-q",
                                "-v",
                                "--progress",
                                "prog"});
    REQUIRE(request);
    CHECK(request->output == "out-%p.json");
    CHECK(request->quiet);
    const RunOptions& options = request->options;
    CHECK(options.mode == SamplingMode::shadow);
    CHECK(options.profiles == ProfileKinds::of<PathList, CallList>());
    CHECK(options.sample_size == 10'000);
    CHECK(options.load == 1.5);
    CHECK(options.duration == 1500ms);
    CHECK(options.delay == 20ms);
    CHECK(options.max_samples == 7);
    CHECK(options.until_converged_percent == 2.5);
    CHECK(options.threads == ThreadScope::main);
    CHECK_FALSE(options.follow_forks);
    CHECK(options.record_input == RecordInput::always);
    CHECK(options.seed == 42);
    CHECK(options.value_callers == 3);
    CHECK_FALSE(options.translate_ahead);
    CHECK(options.probes == std::vector<std::string>{"reads { count() }", "b: writes { count() }"});
    CHECK(options.verbose);
    CHECK(request->progress == Progress::always);
}

TEST_CASE("input is recorded always, never, or as needed") {
    const auto choice = [](const std::string& word) {
        const auto request = parse({word, "prog"});
        REQUIRE(request);
        return request->options.record_input;
    };
    CHECK(choice("--record-input") == RecordInput::always);
    CHECK(choice("--record-input=yes") == RecordInput::always);
    CHECK(choice("--record-input=no") == RecordInput::never);
    CHECK(choice("--record-input=auto") == RecordInput::as_needed);
    CHECK_FALSE(parse({"--record-input=maybe", "prog"}));
}

TEST_CASE("bursts have the lengths that are asked for, and usual ones for other kinds") {
    const auto request = parse({"--burst-length=path:50,edge:7", "--profiles=edge,path,value",
                                "--every=10kcalls", "--burst-length", "edge:2", "prog"});
    REQUIRE(request);
    REQUIRE(request->options.bursts);
    const BurstOptions& bursts = *request->options.bursts;
    CHECK(bursts.plan.every == 10'000);
    CHECK(bursts.plan.events == EventKinds{true, false});
    CHECK(bursts.plan.lengths == KindEvents{{2, 50, 0}});
    CHECK(bursts.value_length > 0);
    const auto text = describe(*request);
    CHECK(text.at("every") == "10000calls");
    CHECK(text.at("burst-length").starts_with("edge:2,path:50,value:"));
    const auto attached = parse_attach(std::vector<std::string>{"--every=5", "4711"}, "");
    REQUIRE(attached);
    CHECK(attached->options.bursts->plan.every == 5);
}

TEST_CASE("bursts that cannot be are refused") {
    CHECK(mentions(failure_of({"--every=0", "prog"}), {"--every '0'", "1000"}));
    CHECK(mentions(failure_of({"--every=5insns", "prog"}), {"--every '5insns'", "backedges"}));
    CHECK(mentions(failure_of({"--every=5", "--burst-length=loop:1", "prog"}),
                   {"--burst-length 'loop:1'", "edge, path, value, call, hazard or stream"}));
    CHECK(
        mentions(failure_of({"--every=5,valuw:7", "prog"}), {"--every", "did you mean 'value'?"}));
    CHECK(mentions(failure_of({"--every=value:7", "prog"}), {"--every", "1000,value:50k"}));
    CHECK(mentions(failure_of({"--every=5,hazard:7", "--profiles=edge", "prog"}),
                   {"--every", "hazard is not collected"}));
    CHECK(mentions(failure_of({"--burst-length=edge:1", "prog"}), {"--burst-length", "--every"}));
    CHECK(mentions(failure_of({"--every=5", "--profiles=edge", "--burst-length=path:1", "prog"}),
                   {"--burst-length 'path:1'", "path is not collected"}));
    CHECK(mentions(failure_of({"--control=,", "prog"}), {"--control ','", "FIFO"}));
}

TEST_CASE("exact mode has bursts, of references besides values as well, and takes no commands") {
    const auto request = parse({"--mode=exact", "--every=100", "prog"});
    REQUIRE(request);
    CHECK(request->options.bursts->plan.lengths == KindEvents{{1, 1, 1}});
    CHECK(request->options.bursts->value_length == 0);
    const auto both = parse({"--mode=exact", "--every=100", "--profiles=value,hazard", "prog"});
    REQUIRE(both);
    CHECK(both->options.bursts->value_length != 0);
    CHECK(both->options.bursts->reference_length != 0);
    CHECK_FALSE(parse({"--mode=exact", "--profiles=value,hazard", "prog"})
                    ->options.profiles.has_any_of(reference_kinds));
    CHECK(mentions(failure_of({"--mode=exact", "--control=x", "prog"}), {"--control"}));
    CHECK(mentions(failure_of({"--mode=exact", "--dump-every=1s", "prog"}), {"--dump-every"}));
    CHECK(mentions(failure_of({"--mode=exact", "--live", "prog"}), {"--live", "--progress"}));
    CHECK(parse({"--control=fifo:a,b", "prog"})->control == "fifo:a,b");
}

TEST_CASE("options behind the program belong to the program") {
    const auto request = parse({"-q", "prog", "-v", "--load=9", "--", "-o", "x", "--help"});
    REQUIRE(request);
    CHECK(request->options.command ==
          std::vector<std::string>{"prog", "-v", "--load=9", "--", "-o", "x", "--help"});
    CHECK(request->options.load == std::nullopt);
    CHECK_FALSE(request->text);
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
    CHECK(mentions(failure_of({"--sample-time=1us", "prog"}),
                   {"--sample-time", "'1us'", "50us to 100ms"}));
    CHECK(
        mentions(failure_of({"--duration=5h", "prog"}), {"--duration", "'5h'", "us, ms, s or m"}));
    CHECK(mentions(failure_of({"--delay=-1s", "prog"}), {"--delay", "'-1s'"}));
    CHECK(
        mentions(failure_of({"--max-samples=0", "prog"}), {"--max-samples", "'0'", "at least 1"}));
    CHECK(mentions(failure_of({"--seed=-1", "prog"}), {"--seed", "'-1'", "2^64"}));
    CHECK(mentions(failure_of({"--probe=functoin == \"f\" { count() }", "prog"}),
                   {"--probe", "did you mean 'function'", "\n  ^"}));
    CHECK(
        mentions(failure_of({"--probe=a: true { count() }", "--probe=a: true { count() }", "prog"}),
                 {"--probe", "'a'"}));
    for (const char* bad : {"9", "1.5", "-1", "", "many"})
        CHECK(mentions(failure_of({fmt::format("--value-callers={}", bad), "prog"}),
                       {"--value-callers", "from 0 to 8"}));
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
        {"--engine=step", "prog"},
    };
    for (const auto& words : later) {
        CAPTURE(words.front());
        const auto request = parse(words);
        REQUIRE_FALSE(request);
        CHECK(request.error().code == ErrorCode::unsupported);
        CHECK(mentions(request.error().message, {"not in this version"}));
    }
}

TEST_CASE("the times of live samples imply their mode") {
    using namespace std::chrono_literals;
    const auto request = parse({"--live-timing=1.5ms/250ms", "prog"});
    REQUIRE(request);
    CHECK(request->options.mode == SamplingMode::live);
    CHECK(request->options.live_timing == LiveTiming{1500us, 250ms});
    CHECK(describe(*request).at("live-timing") == "1500us/250000us");
    CHECK(describe(*request).at("mode") == "live");
    CHECK_FALSE(describe(*request).contains("budget"));
    CHECK(parse({"--mode=burst", "--burst=100us/200us", "prog"}));
    CHECK(parse({"--mode=burst", "prog"})->options.live_timing == std::nullopt);
    CHECK(parse({"--mode=live", "prog"})->options == parse({"--mode=burst", "prog"})->options);
    const auto attach = parse_attach(std::vector<std::string>{"2", "--burst=100ms/1m"}, "");
    REQUIRE(attach);
    CHECK(attach->options.mode == SamplingMode::live);
    for (const char* mode : {"auto", "shadow", "exact"}) {
        const auto option = fmt::format("--mode={}", mode);
        CHECK(mentions(failure_of({option, "--burst=2ms/1s", "prog"}), {"--live-timing", option}));
    }
    CHECK(
        mentions(failure_of({"--load=1", "--burst=2ms/1s", "prog"}), {"--live-timing", "--load"}));
}

TEST_CASE("patterns of functions to count in may have quotes and backslashes") {
    for (const char* glob : {"operator\"\" _km", "f\\[", "f\\\\"}) {
        CAPTURE(glob);
        std::vector<std::string> functions;
        CHECK(add_counted_function(functions, glob));
        CHECK(functions == std::vector<std::string>{glob});
    }
    CHECK(mentions(failure_of({"--mode=exact", "--count-in=f[", "prog"}),
                   {"--count-in", "'f['", "is not closed", "\\["}));
}

TEST_CASE("bad times of live samples name the option, the value and what is accepted") {
    for (const char* value : {"99us/1s", "101ms/1s", "2ms/3ms"}) {
        const auto option = fmt::format("--live-timing={}", value);
        CHECK(mentions(failure_of({option, "prog"}),
                       {"--live-timing", value, "100us to 100ms", "2ms/1s"}));
    }
    CHECK(mentions(failure_of({"--burst=2ms", "prog"}), {"--live-timing", "'2ms'", "2ms/1s"}));
    CHECK(mentions(failure_of({"--burst=2/1s", "prog"}),
                   {"--live-timing", "'2/1s'", "100us to 100ms"}));
    CHECK(mentions(failure_of({"--burst=2ms/", "prog"}),
                   {"--live-timing", "'2ms/'", "us, ms, s or m"}));
    CHECK(mentions(failure_of({"--burst=2ms/1s/1s", "prog"}), {"--live-timing", "us, ms, s or m"}));
}

TEST_CASE("a budget is a percentage, and is told as it was understood") {
    CHECK(mentions(failure_of({"--budget=much", "prog"}), {"--budget", "'much'", "percentage"}));
    CHECK(parse({"--budget=0.5%", "prog"})->options.budget_percent == 0.5);
    CHECK(describe(*parse({"--budget=2", "prog"})).at("budget") == "2%");
    CHECK(describe(*parse({"prog"})).at("budget") == "1%");
    CHECK_FALSE(describe(*parse({"--load=1", "prog"})).contains("budget"));
    CHECK(describe(*parse({"prog"})).at("cpu-budget") == "25%");
    CHECK(describe(*parse({"--cpu-budget=5%", "--load=1", "prog"})).at("cpu-budget") == "5%");
    CHECK_FALSE(describe(*parse({"--load=1", "prog"})).contains("cpu-budget"));
    CHECK_FALSE(parse({"--cpu-budget=0", "prog"}));
    CHECK_FALSE(parse({"--cpu-budget=5%", "--mode=exact", "prog"}));
}

TEST_CASE("data streams are asked for by length and heat") {
    const auto streams = [](const std::string& option) {
        return parse({"--profiles=edge,stream", option, "prog"})->options.streams;
    };
    CHECK(streams("--stream-length=10..50") == StreamLimits{10, 50, 0.1});
    CHECK(streams("--stream-heat=2%") == StreamLimits{2, 100, 2});
    CHECK(describe(*parse({"--profiles=stream", "prog"})).at("stream-length") == "2..100");
    CHECK(describe(*parse({"--profiles=stream", "prog"})).at("stream-heat") == "0.1%");
    CHECK_FALSE(describe(*parse({"prog"})).contains("stream-heat"));
    for (const char* bad : {"5", "1..5", "5..4", "2..1001", "a..b", "..", "2..", "-2..5", "2...5"})
        CHECK(mentions(failure_of({"--profiles=stream", "--stream-length", bad, "prog"}),
                       {"--stream-length", "2..1000"}));
    CHECK(
        mentions(failure_of({"--profiles=stream", "--stream-heat=0", "prog"}), {"--stream-heat"}));
    CHECK(mentions(failure_of({"--stream-heat=1", "prog"}), {"--profiles=stream"}));
    const auto exact = parse({"--mode=exact", "--profiles=value,stream", "prog"});
    CHECK_FALSE(exact->options.profiles.has<StreamList>());
    CHECK(mentions(exact->notes.at(0), {"streams"}));
    CHECK(parse({"--mode=exact", "--profiles=stream", "prog"})->options.profiles.has<StreamList>());
}

TEST_CASE("cache misses need every access") {
    const auto exact = parse({"--mode=exact", "--profiles=edge,cache", "prog"});
    REQUIRE(exact);
    CHECK(exact->options.profiles == ProfileKinds::of<EdgeList, CacheList>());
    CHECK(exact->notes.empty());
    for (const auto& words : {std::vector<std::string>{"--profiles=edge,cache", "prog"},
                              std::vector<std::string>{"--mode=exact", "--every=1000",
                                                       "--profiles=edge,cache", "prog"}}) {
        const auto other = parse(words);
        REQUIRE(other);
        CHECK(other->options.profiles == ProfileKinds::of<EdgeList>());
        REQUIRE(other->notes.size() == 1);
        CHECK(mentions(other->notes[0], {"every access", "--mode=exact"}));
    }
    const auto values = parse({"--mode=exact", "--profiles=value,cache", "prog"});
    CHECK_FALSE(values->options.profiles.has<CacheList>());
    CHECK(mentions(values->notes.at(0), {"cache misses"}));
}

TEST_CASE("all profiles are all, and a later list wins") {
    const auto all = parse({"--profiles=all", "prog"});
    REQUIRE(all);
    CHECK(all->notes.empty());
    CHECK(all->options.profiles == ProfileKinds::all().without<CacheList>());
    CHECK(parse({"--profiles=value,latency", "prog"})->options.profiles ==
          ProfileKinds::of<ValueList, LatencyList>());
    CHECK_FALSE(parse({"prog"})->options.profiles.has<HazardList>());
    CHECK_FALSE(parse({"prog"})->options.profiles.has<StreamList>());
    CHECK(describe(*parse({"--profiles=edge,hazard", "prog"})).at("profiles") == "edge,hazard");
    CHECK(parse({"--profiles=all", "--profiles=edge", "prog"})->notes.empty());
}

TEST_CASE("the method profile takes the edges and calls that it is derived from") {
    CHECK(parse({"--profiles=method", "prog"})->options.profiles ==
          ProfileKinds::of<EdgeList, CallList>());
    CHECK(parse({"--profiles=value,method", "prog"})->options.profiles ==
          ProfileKinds::of<EdgeList, ValueList, CallList>());
}

TEST_CASE("an unknown option is not taken for the program") {
    CHECK(mentions(failure_of({"--lod=1", "prog"}), {"'--lod'", "'--load'"}));
    CHECK(mentions(failure_of({"-x", "prog"}), {"'-x'"}));
    CHECK(mentions(failure_of({"--load"}), {"--load"}));
}

TEST_CASE("without a program there is nothing to run") {
    CHECK(mentions(failure_of({}), {"no program"}));
    CHECK(mentions(failure_of({"-q", "--"}), {"no program"}));
    CHECK(parse({"--help"})->text);
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
    CHECK(parse_attach(std::vector<std::string>{"--help"}, "")->text);
}

TEST_CASE("behind -- attach takes a word for a process id") {
    const auto failed = [](std::vector<std::string> words) {
        return parse_attach(words, "").error().message;
    };
    CHECK(mentions(failed({"--", "-5"}), {"PID '-5'"}));
    CHECK(mentions(failed({"--", "--help"}), {"PID '--help'"}));
    CHECK(parse_attach(std::vector<std::string>{"--", "2"}, "")->options.attach_to == 2);
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
    CHECK(failure({"--mode=shadow", "2"}, "--mode=exact").empty());
}

TEST_CASE("run follows forks unless it is told not to, attach only if it is told to") {
    const auto run = [](std::vector<std::string> words) {
        words.push_back("prog");
        return parse(words)->options.follow_forks;
    };
    CHECK(run({}));
    CHECK(run({"--follow-forks=no", "--follow-forks=yes"}));
    CHECK_FALSE(run({"--follow-forks=no"}));
    CHECK_FALSE(run({"--mode=exact"}));
    CHECK(run({"--mode=exact", "--follow-forks=yes"}));
    CHECK_FALSE(run({"--mode=exact", "--follow-forks=no"}));
    CHECK_FALSE(parse_attach(std::vector<std::string>{"2"}, "")->options.follow_forks);
    const auto attach = parse_attach(std::vector<std::string>{"2", "--follow-forks=yes"}, "");
    CHECK(attach->options.follow_forks);
    CHECK(describe(*attach).at("follow-forks") == "yes");
    CHECK(mentions(failure_of({"--follow-forks=2", "prog"}), {"--follow-forks", "'2'", "yes, no"}));
}

TEST_CASE("attach takes the children that are there only if it is told to, and run has no such") {
    const auto attach = [](std::vector<std::string> words, const char* environment = "") {
        words.push_back("2");
        return parse_attach(words, environment);
    };
    CHECK_FALSE(attach({})->options.existing_children);
    CHECK(describe(*attach({})).count("children") == 0);
    for (const auto& request : {attach({"--children"}), attach({}, "--children")}) {
        REQUIRE(request);
        CHECK(request->options.existing_children);
        CHECK_FALSE(request->options.follow_forks);
        CHECK(describe(*request).at("children") == "yes");
    }
    CHECK(mentions(failure_of({"--children", "prog"}), {"'--children'"}));
    CHECK(attach({"--help"})->text->find("--children") != std::string::npos);
}

TEST_CASE("a sample has a size or a time, and a time only behind a fork") {
    const auto request = parse({"--sample-time=300us", "prog"});
    REQUIRE(request);
    CHECK(request->options.sample_time == std::chrono::microseconds(300));
    CHECK(describe(*request).at("sample-time") == "300us");
    CHECK_FALSE(describe(*request).contains("sample-size"));
    CHECK(describe(*parse({"prog"})).at("sample-time") == "auto");
    CHECK(describe(*parse({"--sample-time=1ms", "--sample-time=auto", "prog"})).at("sample-time") ==
          "auto");
    CHECK(parse({"--sample-time=1ms", "--mode=shadow", "prog"}));
    CHECK(parse({"prog"})->options.sample_time == RunOptions::shortest_sample_time);
    CHECK(parse_attach(std::vector<std::string>{"2"}, "")->options.sample_time ==
          RunOptions::shortest_sample_time);
    for (const char* option : {"--sample-size=1M", "--mode=live", "--burst=2ms/1s", "--mode=exact"})
        CHECK_FALSE(parse({option, "prog"})->options.sample_time);
    CHECK(parse({"--probe=all: entry { count() }", "prog"})->options.sample_time);
    CHECK(mentions(failure_of({"--sample-time=1ms", "--sample-size=10k", "prog"}),
                   {"--sample-time", "--sample-size"}));
    for (const char* mode : {"live", "exact"})
        CHECK(mentions(failure_of({"--sample-time=1ms", std::string("--mode=") + mode, "prog"}),
                       {"--sample-time", "--mode=live", "--mode=exact"}));
}

TEST_CASE("the help shows all options") {
    const std::string help = parse({"--help"})->text.value();
    for (const char* name : {"-o, --output FILE",
                             "--mode",
                             "--profiles",
                             "--sample-size",
                             "--sample-time",
                             "--load",
                             "--budget",
                             "--duration",
                             "--delay",
                             "--max-samples",
                             "--until-converged[=PERCENT]",
                             "--threads",
                             "--seed",
                             "--value-callers",
                             "--probe",
                             "--live-timing TIME/TIME",
                             "--follow-forks",
                             "--quiet",
                             "--every",
                             "--burst-length",
                             "--control",
                             "--verbose",
                             "--no-progress",
                             "SHADOWPROF_OPTIONS"}) {
        CAPTURE(name);
        CHECK(help.find(name) != std::string::npos);
    }
}

TEST_CASE("an option may go without its value, which only stands behind =") {
    const auto bare = parse({"--until-converged", "prog", "3"});
    REQUIRE(bare);
    CHECK(bare->options.until_converged_percent == 5);
    CHECK(bare->options.command == std::vector<std::string>{"prog", "3"});
    CHECK_FALSE(parse({"prog", "--until-converged=3"})->options.until_converged_percent);
    CHECK(
        parse({"--until-converged=3", "--until-converged", "p"})->options.until_converged_percent ==
        5);
    for (const char* wrong : {"0", "101", "much", "-1"})
        CHECK(mentions(failure_of({fmt::format("--until-converged={}", wrong), "prog"}),
                       {"--until-converged", wrong, "percentage"}));
    CHECK(mentions(failure_of({"--mode=exact", "--until-converged", "prog"}),
                   {"--mode=exact", "--until-converged"}));
    CHECK(describe(*bare).at("until-converged") == "5%");
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
}  // namespace shadowprof::options_test
