#include "cli/options/options.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text/text_format.h"
#include "cli/options/command_line.h"
#include "cli/options/option_table.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "probe/probe.h"

namespace shadowprof {
namespace {

using std::string_view;

constexpr string_view environment_epilogue =
    "Options may also stand in SHADOWPROF_OPTIONS; the command line wins.";
constexpr CommandUsage run_usage = {
    .name = "run",
    .arguments = "[options] [--] PROGRAM [ARG...]",
    .description = "Profiles PROGRAM from its start and ends as it ends.",
    .epilogue = environment_epilogue};
constexpr CommandUsage attach_usage = {
    .name = "attach",
    .arguments = "[options] PID",
    .description =
        "Profiles a running process and lets it go unharmed: at Ctrl-C, or when "
        "--duration, --max-samples or --until-converged say so.",
    .epilogue = environment_epilogue};

// A command of this file, and which of its words are options.
struct Reading {
    const CommandUsage& usage;
    CommandLine::Options options;
    std::vector<OptionRow> (*rows)(RunRequest&);
};
constexpr Reading reading_run = {run_usage, CommandLine::Options::before_command, run_options};
constexpr Reading reading_attach = {attach_usage, CommandLine::Options::anywhere, attach_options};

// Returns the words that are no options. Errors: usage, if one is an unknown option.
Result<std::vector<std::string>> arguments(const Reading& reading, std::vector<std::string> rest) {
    RunRequest none;
    return CommandLine(reading.usage, reading.rows(none))
        .arguments(std::move(rest), reading.options);
}

// Parses the options; `rest` gets the other words.
Result<RunRequest> parse_words(std::span<const std::string> words, const Reading& reading,
                               std::vector<std::string>& rest) {
    RunRequest request;
    CommandLine line(reading.usage, reading.rows(request));
    TRY_ASSIGN(rest, line.parse_options(words, reading.options));
    request.text = line.asked_text();
    return request;
}

// Returns the words of SHADOWPROF_OPTIONS, which must all be options.
Result<std::vector<std::string>> environment_words(string_view environment,
                                                   const Reading& reading) {
    constexpr string_view variable = "SHADOWPROF_OPTIONS";
    auto words = split_words(environment);
    if (!words) return std::move(words).error().with_context(variable);
    std::vector<std::string> rest;
    auto alone = parse_words(*words, reading, rest);
    if (!alone) return std::move(alone).error().with_context(variable);
    if (alone->text)
        return Error{
            ErrorCode::usage, 0,
            fmt::format("{}: --help and --completion-words must be on the command line", variable)};
    if (rest.empty()) return std::move(words).value();
    if (auto known = arguments(reading, rest); !known)
        return std::move(known).error().with_context(variable);
    return Error{ErrorCode::usage, 0,
                 fmt::format("{}: '{}' is not an option", variable, printable(rest.front()))};
}

// Parses the environment's words, then those of the command line. Where the latter ask for a text,
// the environment plays no role.
Result<RunRequest> parse_all(std::span<const std::string> words, string_view environment,
                             const Reading& reading, std::vector<std::string>& rest) {
    if (auto asked = parse_words(words, reading, rest); asked && asked->text) return asked;
    TRY_ASSIGN(std::vector<std::string> all, environment_words(environment, reading));
    all.insert(all.end(), words.begin(), words.end());
    return parse_words(all, reading, rest);
}

Result<pid_t> process_id(const std::vector<std::string>& rest) {
    if (rest.empty())
        return Error{ErrorCode::usage, 0,
                     "no process to attach to; name one by its id, as in 'shadowprof attach 4711'"};
    if (rest.size() > 1)
        return Error{ErrorCode::usage, 0,
                     fmt::format("only one process can be attached to; '{}' is a second argument",
                                 printable(rest[1]))};
    const auto id = parse_u64(rest.front());
    const bool decimal = rest.front().find_first_not_of("0123456789") == std::string::npos;
    constexpr std::uint64_t most = std::numeric_limits<pid_t>::max();
    if (!id || !decimal || *id == 0 || *id > most)
        return Error{
            ErrorCode::usage, 0,
            fmt::format("PID '{}': must be the id of a running process, a whole number from "
                        "1 to {}",
                        printable(rest.front()), most)};
    return static_cast<pid_t>(*id);
}

// --live-timing implies live samples and excludes other modes.
Result<void> fit_live_timing(RunRequest& request) {
    RunOptions& options = request.options;
    if (!options.live_timing) return {};
    if (request.mode_is_asked_for && options.mode != SamplingMode::live)
        return Error{
            ErrorCode::usage, 0,
            fmt::format("--live-timing is for --mode=live, which it implies, not for --mode={}",
                        name(options.mode))};
    if (options.load)
        return Error{ErrorCode::usage, 0,
                     "--live-timing and --load cannot be used together: both set how often samples "
                     "are taken"};
    options.mode = SamplingMode::live;
    return {};
}

// --sample-time needs the speed of the target, which is measured only with replicas.
Result<void> fit_sample_time(RunRequest& request) {
    RunOptions& options = request.options;
    const bool is_known = options.mode != SamplingMode::live && options.mode != SamplingMode::exact;
    if (!options.sample_time) {
        if (is_known && !options.sample_size_is_asked_for)
            options.sample_time = RunOptions::shortest_sample_time;
        return {};
    }
    if (options.sample_size_is_asked_for)
        return Error{ErrorCode::usage, 0,
                     "--sample-time and --sample-size cannot be used together: both set how long a "
                     "sample is"};
    if (!is_known)
        return Error{ErrorCode::usage, 0,
                     "--sample-time cannot be used with --mode=live or --mode=exact, which do not "
                     "measure how fast the program runs; use --sample-size with --mode=live"};
    return {};
}

Result<void> check_only_exact_mode(const RunOptions& options) {
    if (options.has_virtual_clock && options.check_percent.value_or(0) != 0)
        return Error{ErrorCode::usage, 0,
                     "--check and --clock=virtual exclude each other: on the hardware the program "
                     "sees the host's clocks"};
    if (options.mode == SamplingMode::exact) return {};
    if (options.check_percent)
        return Error{ErrorCode::usage, 0,
                     "--check needs --mode=exact: samples are emulated from copies of the program"};
    if (options.has_virtual_clock)
        return Error{ErrorCode::usage, 0,
                     "--clock=virtual needs --mode=exact: only there does the program see "
                     "shadowprof's clocks"};
    if (!options.counts_at_start || !options.count_in.empty())
        return Error{
            ErrorCode::usage, 0,
            "--count-at-start and --count-in need --mode=exact: samples begin anywhere in the "
            "program, so it is not known what they are within"};
    return {};
}

// Exact mode follows the whole run, so it excludes options that choose a part. Values are
// expensive, so it does not collect them by default.
Result<void> fit_exact_mode(RunRequest& request) {
    RunOptions& options = request.options;
    if (options.duration || options.max_samples || options.load || options.budget_percent ||
        options.cpu_budget_percent || options.until_converged_percent || options.delay.count() != 0)
        return Error{ErrorCode::usage, 0,
                     "--load, --budget, --cpu-budget, --delay, --duration, --max-samples and "
                     "--until-converged cannot be used with --mode=exact, which follows the whole "
                     "run"};
    if (options.record_input == RecordInput::always)
        return Error{ErrorCode::usage, 0,
                     "--record-input cannot be used with --mode=exact, which follows the program "
                     "through what it reads"};
    if (!request.control.empty())
        return Error{ErrorCode::usage, 0,
                     "--control cannot be used with --mode=exact, which follows the whole run"};
    if (request.dump_every)
        return Error{
            ErrorCode::usage, 0,
            "--dump-every cannot be used with --mode=exact, which writes one profile of the "
            "whole run"};
    if (request.live)
        return Error{ErrorCode::usage, 0,
                     "--live cannot be used with --mode=exact, whose counts are known only at the "
                     "end; --progress shows how far it is"};
    auto& profiles = options.profiles;
    if (!request.profiles_are_asked_for)
        profiles = profiles.without<ValueList, LatencyList, WaitList>();
    if (profiles.has<WaitList>() && profiles != ProfileKinds::all())
        request.notes.emplace_back(
            "waits are not collected: in --mode=exact the program's threads do not run by "
            "themselves");
    if (!request.every && profiles.has<ValueList>() && profiles.has_any_of(exact_reference_kinds)) {
        profiles = profiles.without<HazardList, StreamList, CacheList>();
        request.notes.emplace_back(
            "hazards, streams and cache misses are not collected: without --every, --mode=exact "
            "traces either values or references; leave value out of --profiles, or add --every");
    }
    return {};
}

// Caches hold what was accessed long before, so a part of all accesses says nothing of them. Who
// asks for all kinds gets those that there are.
void fit_cache_model(RunRequest& request) {
    auto& profiles = request.options.profiles;
    if (!profiles.has<CacheList>()) return;
    if (request.options.mode == SamplingMode::exact && !request.every) return;
    const bool asks_for_all = profiles == ProfileKinds::all();
    profiles = profiles.without<CacheList>();
    if (asks_for_all) return;
    request.notes.emplace_back(
        "cache misses are not collected: the model must see every access, so it needs --mode=exact "
        "without --every");
}

// Phases need an output file, beside which their own files lie.
Result<void> check_phases(const RunRequest& request) {
    if (!request.dump_every || request.output != "-") return {};
    return Error{
        ErrorCode::usage, 0,
        "--dump-every needs a file for the profile of the run, which goes to standard output; "
        "name a file with -o"};
}

Result<void> check_streams(const RunRequest& request) {
    if (!request.stream_limits_are_asked_for || request.options.profiles.has<StreamList>())
        return {};
    return Error{
        ErrorCode::usage, 0,
        "--stream-length and --stream-heat need --profiles=stream: else no data streams are "
        "collected"};
}

// Adds a note for each probe that cannot record anything.
void note_blind_probes(RunRequest& request) {
    if (request.options.profiles.has<LatencyList>()) return;
    const auto probes = ProbeSet::parse(request.options.probes);
    if (!probes) return;
    for (const Probe& probe : probes->probes())
        if (probe.uses_latency())
            request.notes.push_back(fmt::format(
                "probe '{}' uses latency, which is not measured, so it records nothing; "
                "add latency to --profiles",
                probe.name()));
}

// To be called when all options are known.
Result<void> settle_bursts(RunRequest& request) {
    RunOptions& options = request.options;
    if (!request.every) {
        if (request.burst_lengths.empty()) return {};
        return Error{ErrorCode::usage, 0,
                     "--burst-length needs --every, which sets how far bursts are apart"};
    }
    auto bursts = bursts_of(*request.every, options.profiles);
    if (!bursts) return std::move(bursts).error().with_context("--every");
    options.bursts = *bursts;
    for (const EventsOfKind& length : request.burst_lengths)
        if (auto set = set_length(*options.bursts, length, options.profiles); !set)
            return std::move(set).error().with_context(
                fmt::format("--burst-length '{}:{}'", name(length.kind), length.events));
    return {};
}

}  // namespace

Result<RunRequest> parse_run(std::span<const std::string> words, std::string_view environment) {
    std::vector<std::string> rest;
    TRY_ASSIGN(RunRequest request, parse_all(words, environment, reading_run, rest));
    if (request.text) return request;
    TRY_ASSIGN(request.options.command, arguments(reading_run, std::move(rest)));
    if (request.options.command.empty())
        return Error{ErrorCode::usage, 0,
                     "no program to run; name one, as in 'shadowprof run ls -l'"};
    TRY(fit_live_timing(request));
    TRY(fit_sample_time(request));
    TRY(check_streams(request));
    TRY(check_phases(request));
    fit_cache_model(request);
    TRY(check_only_exact_mode(request.options));
    const bool exact = request.options.mode == SamplingMode::exact;
    if (exact) TRY(fit_exact_mode(request));
    TRY(settle_bursts(request));
    note_blind_probes(request);
    request.options.follow_forks = request.follow_forks.value_or(!exact);
    return request;
}

Result<RunRequest> parse_attach(std::span<const std::string> words, std::string_view environment) {
    std::vector<std::string> rest;
    TRY_ASSIGN(RunRequest request, parse_all(words, environment, reading_attach, rest));
    if (request.text) return request;
    TRY_ASSIGN(rest, arguments(reading_attach, std::move(rest)));
    TRY_ASSIGN(request.options.attach_to, process_id(rest));
    TRY(fit_live_timing(request));
    TRY(fit_sample_time(request));
    TRY(check_streams(request));
    TRY(check_phases(request));
    request.options.follow_forks = request.follow_forks.value_or(false);
    if (request.options.mode == SamplingMode::exact)
        return Error{ErrorCode::unsupported, 0,
                     "--mode=exact follows a program from its start, with 'shadowprof run'; a "
                     "running process can be sampled (--mode=shadow)"};
    fit_cache_model(request);
    TRY(settle_bursts(request));
    note_blind_probes(request);
    return request;
}

}  // namespace shadowprof
