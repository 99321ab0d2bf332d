#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <random>

#include "report/lists/function_errors.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/profile_reader.h"
#include "report/profile_file/profile_writer.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::profile_json_test {
namespace {

std::string written(const Profile& profile, SymbolSource& symbols, WriteOptions options = {}) {
    StringSink sink;
    REQUIRE(write_profile(profile, symbols, sink, options));
    return sink.text();
}

std::string sample_text() {
    auto symbols = sample_symbols();
    return written(sample_profile(), symbols);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    auto at = text.find(what);
    REQUIRE_MESSAGE(at != std::string::npos, what);
    return text.replace(at, what.size(), with);
}

// The message with which `text` is refused; empty if it is accepted.
std::string refusal(const std::string& text) {
    auto file = parse_profile(text);
    return file ? "" : file.error().message;
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

class FullSink final : public ByteSink {
  public:
    Result<void> write(std::string_view) override { return errno_error("write", ENOSPC); }
};

}  // namespace

TEST_CASE("a profile that is read and written again is the same, byte by byte") {
    std::string first = sample_text();
    auto file = parse_profile(first);
    REQUIRE_MESSAGE(file.has_value(), refusal(first));
    CHECK(written(file->profile, file->symbols) == first);
}

TEST_CASE("every field survives the file") {
    auto file = parse_profile(sample_text());
    REQUIRE(file);
    const Profile& p = file->profile;
    const Profile want = sample_profile();
    CHECK(p.run.seed == want.run.seed);
    CHECK(p.run.exit_status == want.run.exit_status);
    CHECK(!p.run.exit_signal);
    CHECK(p.run.options == want.run.options);
    CHECK(p.sampling.target_instructions == want.sampling.target_instructions);
    CHECK(p.sampling.ended == want.sampling.ended);
    CHECK(p.sampling.convergence == want.sampling.convergence);
    CHECK(p.overhead.pause.p99_us == want.overhead.pause.p99_us);
    CHECK(p.overhead.induced_faults == want.overhead.induced_faults);
    CHECK(p.overhead.waited_seconds == want.overhead.waited_seconds);
    CHECK(p.syscalls.by_name == want.syscalls.by_name);
    CHECK(p.processes[1] == want.processes[1]);
    CHECK(p.other_processes == want.other_processes);
    REQUIRE(p.edges.size() == want.edges.size());
    for (std::size_t i = 0; i < p.edges.size(); ++i) {
        CHECK(p.edges[i].from == want.edges[i].from);
        CHECK(p.edges[i].to == want.edges[i].to);
        CHECK(p.edges[i].kind == want.edges[i].kind);
        CHECK(p.edges[i].count == want.edges[i].count);
        CHECK(p.edges[i].error == want.edges[i].error);
    }
    REQUIRE(p.paths.size() == 2);
    CHECK(p.paths[1].blocks == want.paths[1].blocks);
    CHECK(p.paths[1].instructions == 12);
    CHECK(p.paths[0].error == 16000);
    CHECK_FALSE(p.paths[1].error);
    REQUIRE(p.stacks.size() == 2);
    CHECK(p.stacks[0].frames == want.stacks[0].frames);
    CHECK(p.stacks[0].samples == 15);
    CHECK(p.stacks[0].error == 300'000);
    CHECK(p.calls.at(0).callee == want.calls[0].callee);
    CHECK(p.calls.at(0).error == 2000);
    CHECK(p.streams == want.streams);
    CHECK(p.latency == want.latency);
    CHECK(p.latency_host == want.latency_host);
    REQUIRE(p.values.size() == 2);
    CHECK(p.values[0].top[1].value == want.values[0].top[1].value);
    CHECK(p.values[0].top[0].error == 4000.5);
    CHECK(p.values[0].top_tnv.at(0).count == 981'000);
    CHECK(p.values[0].invariance == want.values[0].invariance);
    CHECK(p.values[0].compensation == 2000.25);
    CHECK(p.values[0].by_caller.at(0).invariance == want.values[0].by_caller[0].invariance);
    CHECK(p.values[0].by_caller[0].compensation == 2000.25);
    CHECK_FALSE(p.values[1].compensation);
    CHECK(p.values[1].width_bytes == 16);
    CHECK(p.values[1].type == want.values[1].type);
    CHECK(p.values[1].top.at(0).value == want.values[1].top[0].value);
    CHECK(bool(p.probes == want.probes));
    CHECK(p.threads == want.threads);
    CHECK(file->symbols.symbol({0, 0x2004}) == sample_symbols().symbol({0, 0x2004}));
    CHECK(file->symbols.instruction_text({0, 0x2010}) == "jne 0x2004");
    CHECK(file->symbols.symbol({1, 0x500}) == CodeSymbol{});
}

TEST_CASE("times come back as they were") {
    const Profile want = sample_profile_with_times();
    auto symbols = sample_symbols();
    const auto file = parse_profile(written(want, symbols));
    REQUIRE(file.has_value());
    CHECK(file->profile.times == want.times);
    CHECK(file->profile.threads == want.threads);
}

TEST_CASE("a profile of a time when all vectors were bits is read") {
    auto file = parse_profile(replaced(sample_text(), "\"f64x2\"", "\"v128\""));
    REQUIRE(file.has_value());
    CHECK(file->profile.values.at(1).type == ValueType{ValueType::Kind::bits, 16});
}

TEST_CASE("an invariance without its lower bound, as older versions wrote it, is made anew") {
    auto json = nlohmann::json::parse(sample_text());
    for (auto& value : json["values"]) {
        value.erase("invariance_lower_bound");
        value.erase("compensation");
        value.erase("by_caller");
    }
    // As a counting sample estimates values that never repeat.
    json["values"][1]["invariance"] = 0.03;
    json["values"][1]["top"][0].update({{"count", 15}, {"error", 29.5}});
    auto file = parse_profile(json.dump());
    REQUIRE(file);
    const auto& values = file->profile.values;
    CHECK(share_of(values.at(0).invariance) == doctest::Approx(0.982));
    CHECK(values[0].invariance->lower_bound > 0.5);
    CHECK(values[0].invariance->lower_bound < 0.98);
    CHECK_FALSE(values.at(1).invariance);
}

TEST_CASE("no invariance stays none") {
    Profile profile = sample_profile();
    profile.values[0].invariance.reset();
    auto symbols = sample_symbols();
    const std::string text = written(profile, symbols);
    auto file = parse_profile(text);
    REQUIRE_MESSAGE(file.has_value(), refusal(text));
    CHECK_FALSE(file->profile.values.at(0).invariance);
    CHECK(file->profile.values.at(1).invariance);
    CHECK(written(file->profile, file->symbols) == text);
}

TEST_CASE("a profile that knows nothing of processes is read") {
    auto json = nlohmann::json::parse(sample_text());
    json.erase("processes");
    json.erase("other_processes");
    auto file = parse_profile(json.dump());
    REQUIRE(file);
    CHECK(file->profile.processes.empty());
    CHECK(file->profile.other_processes == OtherProcesses{});
}

TEST_CASE("methods are derived from calls, backward branches and stacks") {
    auto file = parse_profile(sample_text());
    REQUIRE(file);
    const auto& methods = file->profile.methods;
    REQUIRE(methods.size() == 2);
    CHECK(methods[0].entry == CodeLocation{0, 0x2000});
    CHECK(methods[0].entries == 100'000);
    CHECK(methods[0].back_edges == 900'000);
    CHECK(methods[0].instructions == 15'000'000);
    CHECK(methods[1].entry == CodeLocation{0, 0x1000});
    CHECK(methods[1].entries == 0);
    CHECK(methods[1].instructions == 1'000'000);
}

TEST_CASE("a method's error is that of its instructions in each batch of samples") {
    auto file = parse_profile(sample_text());
    REQUIRE(file);
    const auto& methods = file->profile.methods;
    // Ten batches, each of them 100,000 away from the mean; the 97.5% quantile of Student's t is
    // 2.262.
    REQUIRE(methods.at(0).error);
    CHECK(*methods[0].error == doctest::Approx(2.262 * 100'000 * 10 / 3).epsilon(0.001));
    CHECK_FALSE(methods[1].error);
    auto symbols = sample_symbols();
    CHECK(function_errors(file->profile, symbols) == function_errors(sample_profile(), symbols));
}

TEST_CASE("times of stacks and methods survive the file") {
    const Profile profile = sample_profile_with_times();
    auto symbols = sample_symbols();
    const auto text = written(profile, symbols);
    const auto file = parse_profile(text);
    REQUIRE_MESSAGE(file.has_value(), refusal(text));
    CHECK(file->profile.stacks == profile.stacks);
    CHECK(function_errors(file->profile, symbols) == function_errors(profile, symbols));
    const auto& methods = file->profile.methods;
    CHECK(methods.at(0).time_ns == 1'500'000'000);
    CHECK(methods.at(0).time_error_ns.has_value());
    CHECK(text.find("\"time_error_ns\"") != std::string::npos);
    Profile without_times = sample_profile();
    without_times.timeline.reset();
    without_times.waits.clear();
    CHECK(written(without_times, symbols).find("\"time_ns\"") == std::string::npos);
}

TEST_CASE("the timeline survives the file, and may be missing") {
    Profile profile = sample_profile();
    auto symbols = sample_symbols();
    auto file = parse_profile(written(profile, symbols));
    REQUIRE(file.has_value());
    CHECK(file->profile.timeline == profile.timeline);
    profile.timeline.reset();
    file = parse_profile(written(profile, symbols));
    REQUIRE(file.has_value());
    CHECK(!file->profile.timeline);
}

TEST_CASE("bursts and changes survive the file") {
    Profile profile = sample_profile();
    profile.sampling.bursts = BurstStats{.every = 1000,
                                         .events = "calls+backedges",
                                         .lengths = {{"edge", 1}, {"value", 10}},
                                         .own_every = {{"value", 50'000}},
                                         .events_counted = 20'000'000,
                                         .bursts = 19'000,
                                         .bursts_by_kind = {{"edge", 18'900}, {"value", 100}},
                                         .events_in_bursts = {{"edge", 19'001}}};
    profile.sampling.changes = {{0.5, 3, "every 100"}, {1.25, 9, "SIGUSR2"}};
    profile.sampling.changes_left_out = 7;
    auto symbols = sample_symbols();
    auto file = parse_profile(written(profile, symbols));
    REQUIRE(file);
    CHECK(file->profile.sampling.bursts == profile.sampling.bursts);
    CHECK(file->profile.sampling.changes == profile.sampling.changes);
    CHECK(file->profile.sampling.changes_left_out == 7);
}

TEST_CASE("counters and modes are read by their older names, and counters are written by both") {
    Profile profile = sample_profile();
    profile.sampling.mode = "shadow and live";
    profile.run.options = {{"mode", "live"}, {"live-timing", "2ms/1s"}};
    profile.sampling.counters["live_samples"] = 41;
    auto symbols = sample_symbols();
    const std::string text = written(profile, symbols);
    CHECK(contains(text, "\"bursts\": 41"));
    CHECK(parse_profile(text)->profile.sampling.counters == profile.sampling.counters);
    CHECK(parse_profile(replaced(text, "\"accuracy\": 0.99", "\"right_share\": 0.99"))
              ->profile.latency_host == profile.latency_host);
    CHECK(parse_profile(
              replaced(text, "\"accuracy\": 0.99", "\"right_share\": 0.5, \"accuracy\": 0.99"))
              ->profile.latency_host == profile.latency_host);
    const std::string old = replaced(replaced(text, "\"live_samples\": 41,", ""),
                                     "\"shadow and live\"", "\"shadow and burst\"");
    const auto read =
        parse_profile(replaced(replaced(old, "\"mode\": \"live\"", "\"mode\": \"burst\""),
                               "\"live-timing\"", "\"burst\""));
    CHECK(read->profile.run.options == profile.run.options);
    CHECK(read->profile.sampling.counters == profile.sampling.counters);
    CHECK(read->profile.sampling.mode == "shadow and live");
}

TEST_CASE("in bursts methods are derived from edges alone, of which all are seen equally often") {
    Profile profile = sample_profile();
    profile.calls = {{{0, 0x1004}, {0, 0x2000}, 100'000}};
    profile.edges = {{{0, 0x1004}, {0, 0x2000}, EdgeKind::call, 3}};
    profile.sampling.bursts.emplace();
    auto symbols = sample_symbols();
    auto file = parse_profile(written(profile, symbols));
    REQUIRE(file);
    REQUIRE(!file->profile.methods.empty());
    CHECK(file->profile.methods[0].entries == 3);
    profile.edges.clear();
    file = parse_profile(written(profile, symbols));
    REQUIRE(file);
    CHECK(file->profile.methods[0].entries == 100'000);
}

TEST_CASE("without stacks a method's instructions are unknown, not zero") {
    Profile profile = sample_profile();
    profile.stacks.clear();
    auto symbols = sample_symbols();
    auto file = parse_profile(written(profile, symbols));
    REQUIRE(file);
    REQUIRE(!file->profile.methods.empty());
    CHECK(!file->profile.methods[0].instructions);
}

TEST_CASE("lists cut short keep the hottest and say so") {
    auto symbols = sample_symbols();
    auto file = parse_profile(written(sample_profile(), symbols, {.top = 1}));
    REQUIRE(file);
    CHECK(file->profile.edges.size() == 1);
    CHECK(file->profile.edges[0].count == 900'000);
    CHECK(file->profile.calls.size() == 1);
    auto has_note = [&](std::string_view text) {
        const auto& notes = file->profile.notes;
        return std::find(notes.begin(), notes.end(), text) != notes.end();
    };
    CHECK(has_note("edges: only the 1 hottest of 6 are listed"));
    CHECK(has_note("methods: only the 1 hottest of 2 are listed"));
    CHECK(!has_note("calls: only the 1 hottest of 1 are listed"));
}

TEST_CASE("an empty profile is a profile") {
    RecordedSymbols nothing;
    std::string first = written(Profile{}, nothing);
    auto file = parse_profile(first);
    REQUIRE_MESSAGE(file.has_value(), refusal(first));
    CHECK(written(file->profile, file->symbols) == first);
}

TEST_CASE("bytes that are not UTF-8 are replaced, not written") {
    std::string text = sample_text();
    CHECK(contains(text, "bad utf-8: \xef\xbf\xbd\xef\xbf\xbd"));
    CHECK(contains(text, R"("--name=a\nb")"));
    CHECK(contains(text, R"("Some \"CPU\" @ 3 GHz")"));
}

TEST_CASE("numbers that JSON has no words for do not spoil the file") {
    Profile profile = sample_profile();
    profile.overhead.estimated_slowdown_percent = std::numeric_limits<double>::quiet_NaN();
    profile.run.seconds = std::numeric_limits<double>::infinity();
    auto symbols = sample_symbols();
    CHECK(refusal(written(profile, symbols)).empty());
}

TEST_CASE("an error of the sink is returned") {
    FullSink full;
    auto symbols = sample_symbols();
    auto result = write_profile(sample_profile(), symbols, full);
    REQUIRE(!result);
    CHECK(result.error().sys_errno == ENOSPC);
}

TEST_CASE("members may stand in any order") {
    std::string text = sample_text();
    auto list_start = text.find("  \"locations\": [");
    auto list_end = text.find("  \"sampling\"");
    REQUIRE(list_start < list_end);
    std::string list = text.substr(list_start, list_end - list_start);
    text.erase(list_start, list.size());
    list.erase(list.rfind(','));
    text.insert(text.rfind("\n}"), ",\n" + list);
    auto file = parse_profile(text);
    REQUIRE_MESSAGE(file.has_value(), refusal(text));
    CHECK(written(file->profile, file->symbols) == sample_text());
}

TEST_CASE("members that a later version added are passed over") {
    CHECK(refusal(replaced(sample_text(), "\"edges\": [", "\"new\": [{\"a\": [1]}], \"edges\": ["))
              .empty());
    CHECK(refusal(replaced(sample_text(), "\"kind\": \"taken\"",
                           "\"weight\": {\"x\": 1}, \"kind\": \"taken\""))
              .empty());
}

TEST_CASE("a schema of another major number is refused by its number") {
    auto file = parse_profile(replaced(sample_text(), "shadowprof/1", "shadowprof/2"));
    REQUIRE(!file);
    CHECK(file.error().code == ErrorCode::unsupported);
    CHECK(contains(file.error().message, "'shadowprof/2'"));
    CHECK(contains(file.error().message, "'shadowprof/1'"));
    // The schema is checked even if nothing else can be parsed.
    auto strange = parse_profile(R"({"edges": [3, {"x": 1}], "schema": "shadowprof/12"})");
    REQUIRE(!strange);
    CHECK(strange.error().code == ErrorCode::unsupported);
    CHECK(contains(refusal(R"({"schema": "perf/1"})"), "not a profile"));
    CHECK(contains(refusal("[1, 2]"), "not a JSON object"));
}

TEST_CASE("wrong contents are refused with their place") {
    const std::string text = sample_text();
    auto refused_for = [&](std::string_view what, std::string_view with, std::string_view why) {
        std::string message = refusal(replaced(text, what, with));
        CHECK_MESSAGE(contains(message, why), with, " gave '", message, "', not ", why);
    };
    refused_for("\"from\": 5", "\"from\": 99", "there is no location 99");
    refused_for("\"from\": 5", "\"from\": -1", "/edges/0/from is not");
    refused_for("\"from\": 5", "\"from\": 1.5", "/edges/0/from is not");
    refused_for("\"from\": 5", "\"from\": 99999999999999999999999", "/edges/0/from is not");
    refused_for("\"error\": 9000.5", "\"error\": \"9000\"", "/edges/0/error is not");
    refused_for("\"reached\": true", "\"reached\": 1", "/sampling/convergence/reached is not");
    refused_for("\"kind\": \"call\"", "\"kind\": \"calls\"", "/edges/2/kind is not");
    refused_for("\"module\": 1", "\"module\": 2", "there is no module 2");
    refused_for("\"module\": 1", "\"module\": 4294967296", "/locations/7/module is not");
    refused_for("\"address\": \"0x1010\"", "\"address\": \"1010\"", "/locations/1/address is not");
    refused_for("\"offset\": 16", "\"offset\": 99999", "/locations/1/offset is not");
    refused_for("\"type\": \"u32\"", "\"type\": \"u31\"", "/values/0/type is not");
    refused_for("\"type\": \"u32\"", "\"type\": \"u8\"", "/values/0/top/1/value is not");
    for (const char* wrong : {"v4294967296", "u0x4", "f8", "f64x999", "f64x3"})
        refused_for("\"f64x2\"", fmt::format("\"{}\"", wrong), "/values/1/type is not");
    refused_for("\"blocks\": [", "\"blocks\": [{}, ", "/paths/0/blocks is not");
    refused_for("\"references\": [", "\"references\": [7, ", "/streams/0/references is not");
    refused_for("\"0x7f0000001000\"", "\"7f\"", "/streams/0/references is not");
    refused_for("\"occurrences\": 4000", "\"occurrences\": -1", "/streams/0/occurrences is not");
    refused_for("\"pid\": 4711", "\"pid\": true", "/run/pid is not");
    refused_for("\"status\": 3", "\"status\": 3000000000", "/run/exit/status is not");
    refused_for("\"p99\": 180.5", "\"p98\": 180.5", "/overhead/pause_us/p99 is not");
    refused_for("\"calls\": [", "\"calls\": [7, ", "/calls/0 is not an object");
    refused_for("\"methods\": [", "\"methods\": 3, \"more\": [", "/methods is not an array");
    refused_for("\"reducer\": \"sum\"", "\"reducer\": \"max\"", "/probes/2/reducer is not");
    refused_for("\"sum\": \"-0x28\"", "\"sum\": \"-28\"", "/probes/1/entries/0/sum is not");
    refused_for("\"histogram\": [[-2, 26]", "\"histogram\": [[-65, 26]",
                "/probes/1/entries/0/histogram is not");
    refused_for("\"key\": \"0x7f0000001000\"", "\"key\": \"7f\"", "/probes/0/entries/0/key is not");
    refused_for("\"value_at\": 5", "\"value_at\": 99", "there is no location 99");
    refused_for("\"parents\": [0", "\"parents\": [1", "/timeline has a frame before its caller");
    refused_for("\"node\": [2", "\"node\": [9", "/timeline has a stack without a frame");
    refused_for("\"start_us\": [", "\"start_us\": [0, ", "/timeline/samples/thread is not as long");
    refused_for("\"notes\": [", "\"notes\": [[], ", "/notes is not");
}

TEST_CASE("a profile that was cut off is refused, wherever it ends") {
    const std::string text = sample_text();
    for (std::size_t length = 0; length + 2 < text.size(); length += 7)
        CHECK(!parse_profile(std::string_view(text).substr(0, length)));
}

TEST_CASE("damaged profiles are read or refused, and what is read can be written") {
    const std::string text = sample_text();
    constexpr std::string_view bytes = "0123456789\"{}[],:x-.e \xff";
    int refused = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        std::mt19937 random(seed);
        std::string damaged = text;
        for (auto left = 1 + random() % 4; left > 0; --left)
            damaged[random() % damaged.size()] = bytes[random() % bytes.size()];
        auto file = parse_profile(damaged);
        if (!file)
            ++refused;
        else
            CHECK(!written(file->profile, file->symbols).empty());
    }
    CHECK(refused > 1000);
}

TEST_CASE("deep nesting does not exhaust the stack") {
    const std::size_t depth = 1'000'000;
    CHECK(!parse_profile(std::string(depth, '[')));
    std::string closed = std::string(depth, '[') + std::string(depth, ']');
    CHECK(contains(refusal("{\"new\": " + closed + "}"), "nested deeper than"));
}

TEST_CASE("a file that is absent or no profile is named") {
    auto absent = read_profile("/nonexistent/profile.json");
    REQUIRE(!absent);
    CHECK(absent.error().code == ErrorCode::not_found);
    CHECK(contains(absent.error().message, "/nonexistent/profile.json"));
    auto device = read_profile("/dev/null");
    REQUIRE(!device);
    CHECK(contains(device.error().message, "not a regular file"));
}

}  // namespace shadowprof::profile_json_test
