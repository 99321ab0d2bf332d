#include "cli/options/options.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text/suggest.h"
#include "cli/options/command_line.h"
#include "cli/options/option_table.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "probe/probe.h"

namespace shadowprof {
namespace {

using std::string_view;

// What one pass over a list of words found.
struct Parse {
    RunRequest request;
    std::optional<Error> failure;
};

void apply(Parse& parse, const OptionRow& row, const std::string& value) {
    if (parse.failure) return;
    auto result = row.set(parse.request, value);
    if (result) return;
    const bool has_value = row.value && !(row.may_go_without_value() && value == no_value);
    const std::string what =
        has_value ? fmt::format("{} '{}'", row.long_name(), value) : std::string(row.long_name());
    parse.failure = std::move(result).error().with_context(what);
}

void add_options(CommandLine& line, Parse& parse) {
    // In the order of the words: the last one wins, and a bad one does not hide behind it.
    for (const OptionRow& row : option_rows()) {
        if (row.value == nullptr) {
            line.on_flag(row.names, [&] { apply(parse, row, ""); });
            continue;
        }
        auto option =
            line.on_text(row.names, [&](const std::string& value) { apply(parse, row, value); });
        if (row.may_go_without_value()) option.value_may_be_missing();
    }
}

Error unknown_option(string_view word) {
    const string_view typed = word.substr(0, word.find('='));
    std::vector<string_view> names;
    for (const OptionRow& row : option_rows()) names.push_back(row.long_name());
    const string_view near = nearest(typed, names);
    return {ErrorCode::usage, 0,
            near.empty() ? fmt::format("unknown option '{}'", typed)
                         : fmt::format("unknown option '{}'; did you mean '{}'?", typed, near)};
}

using Options = CommandLine::Options;

bool looks_like_option(string_view word) {
    return word.size() > 1 && word.front() == '-';
}

// What is left in `rest` is not for us to understand.
Result<RunRequest> parse_words(std::span<const std::string> words, Options options,
                               std::vector<std::string>& rest) {
    Parse parse;
    CommandLine line;
    add_options(line, parse);
    TRY_ASSIGN(rest, line.parse_options(words, options));
    if (parse.failure) return *std::move(parse.failure);
    return std::move(parse.request);
}

// The words of SHADOWPROF_OPTIONS, which must be options and nothing else.
Result<std::vector<std::string>> environment_words(string_view environment) {
    constexpr string_view variable = "SHADOWPROF_OPTIONS";
    auto words = split_words(environment);
    if (!words) return std::move(words).error().with_context(variable);
    std::vector<std::string> rest;
    auto alone = parse_words(*words, Options::before_command, rest);
    if (!alone) return std::move(alone).error().with_context(variable);
    if (rest.empty() && !words->empty() && words->back() == "--") rest = {"--"};
    if (rest.empty()) return std::move(words).value();
    if (rest.front() != "--" && looks_like_option(rest.front()))
        return unknown_option(rest.front()).with_context(variable);
    return Error{ErrorCode::usage, 0, fmt::format("{}: '{}' is no option", variable, rest.front())};
}

// The environment's words, then those of the command line.
Result<RunRequest> parse_all(std::span<const std::string> words, string_view environment,
                             Options options, std::vector<std::string>& rest) {
    TRY_ASSIGN(std::vector<std::string> all, environment_words(environment));
    all.insert(all.end(), words.begin(), words.end());
    return parse_words(all, options, rest);
}

// Takes away what only separates.
Result<std::vector<std::string>> target_command(std::vector<std::string> rest) {
    if (rest.empty()) return rest;
    if (rest.front() == "--")
        rest.erase(rest.begin());
    else if (looks_like_option(rest.front()))
        return unknown_option(rest.front());
    return rest;
}

Result<pid_t> process_id(std::vector<std::string> rest) {
    const auto separator = std::find(rest.begin(), rest.end(), "--");
    if (separator != rest.end()) rest.erase(separator);
    for (const std::string& word : rest)
        if (looks_like_option(word)) return unknown_option(word);
    if (rest.empty()) return Error{ErrorCode::usage, 0, "no process to attach to"};
    if (rest.size() > 1)
        return Error{
            ErrorCode::usage, 0,
            fmt::format("accepted is the id of one process: '{}' is one too many", rest[1])};
    const auto id = parse_u64(rest.front());
    const bool decimal = rest.front().find_first_not_of("0123456789") == std::string::npos;
    constexpr std::uint64_t most = std::numeric_limits<pid_t>::max();
    if (!id || !decimal || *id == 0 || *id > most)
        return Error{ErrorCode::usage, 0,
                     fmt::format("PID '{}': accepted is the id of a running process, a whole "
                                 "number from 1 to {}",
                                 rest.front(), most)};
    return static_cast<pid_t>(*id);
}

// Live samples at times of their own are live and nothing else.
Result<void> fit_burst_timing(RunRequest& request) {
    RunOptions& options = request.options;
    if (!options.live_timing) return {};
    if (request.mode_is_asked_for && options.mode != SamplingMode::live)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--burst is for --mode=live, which it implies, not for --mode={}",
                                 mode_names[static_cast<std::size_t>(options.mode)])};
    if (options.load)
        return Error{ErrorCode::usage, 0,
                     "--burst says how often samples are taken, and so does --load"};
    options.mode = SamplingMode::live;
    return {};
}

// Only behind a fork it is found out how long the program itself takes for a sample.
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
                     "--sample-time says how long a sample is, and so does --sample-size"};
    if (!is_known)
        return Error{ErrorCode::usage, 0,
                     "--sample-time is for samples of replicas: not for --mode=live, and not for "
                     "--mode=exact"};
    return {};
}

// Where everything is followed, nothing is left to choose; and values cost much.
Result<void> fit_exact_mode(RunRequest& request) {
    RunOptions& options = request.options;
    if (options.duration || options.max_samples || options.load || options.budget_percent ||
        options.cpu_budget_percent || options.until_converged_percent || options.delay.count() != 0)
        return Error{ErrorCode::usage, 0,
                     "--mode=exact follows the whole run: --load, --budget, --cpu-budget, --delay, "
                     "--duration, --max-samples and --until-converged are for samples"};
    if (request.follow_forks.value_or(false))
        return Error{ErrorCode::unsupported, 0,
                     "--follow-forks=yes: --mode=exact follows one process alone; the processes "
                     "that it starts can be sampled (--mode=shadow)"};
    if (options.record_input == RecordInput::always)
        return Error{ErrorCode::usage, 0,
                     "--mode=exact follows the program through what it reads: --record-input is "
                     "for samples"};
    if (!request.control.empty())
        return Error{ErrorCode::usage, 0,
                     "--mode=exact follows the whole run: --control is for samples"};
    if (request.dump_every)
        return Error{ErrorCode::usage, 0,
                     "--mode=exact follows the whole run and writes one profile of it: "
                     "--dump-every is for samples"};
    auto& profiles = options.profiles;
    if (!request.profiles_are_asked_for) profiles = profiles.without<ValueList, LatencyList>();
    if (!request.every && profiles.has<ValueList>() && profiles.has_any_of(reference_kinds)) {
        profiles = profiles.without<HazardList, StreamList>();
        request.notes.emplace_back(
            "--mode=exact traces values or references: for hazards and streams, leave value out of "
            "--profiles, or let them count in bursts (--every)");
    }
    return {};
}

// Where their files would be.
Result<void> check_phases(const RunRequest& request) {
    if (!request.dump_every || request.output != "-") return {};
    return Error{ErrorCode::usage, 0,
                 "--dump-every: profiles of intervals are files beside that of the run, which is "
                 "standard output; name a file with -o"};
}

Result<void> check_streams(const RunRequest& request) {
    if (!request.stream_limits_are_asked_for || request.options.profiles.has<StreamList>())
        return {};
    return Error{ErrorCode::usage, 0,
                 "--stream-length and --stream-heat: no data streams are collected; ask for them "
                 "with --profiles=stream"};
}

// A probe that will see nothing is told of.
void note_blind_probes(RunRequest& request) {
    if (request.options.profiles.has<LatencyList>()) return;
    const auto probes = ProbeSet::parse(request.options.probes);
    if (!probes) return;
    for (const Probe& probe : probes->probes())
        if (probe.uses_latency())
            request.notes.push_back(
                fmt::format("probe '{}' speaks of latency, which is not measured: it sees nothing; "
                            "latency is one of --profiles",
                            probe.name()));
}

// When all options are known.
Result<void> settle_bursts(RunRequest& request) {
    RunOptions& options = request.options;
    if (!request.every) {
        if (request.burst_lengths.empty()) return {};
        return Error{ErrorCode::usage, 0,
                     "--burst-length: there are no bursts without --every, which says how many "
                     "events they are apart"};
    }
    auto bursts = bursts_of(*request.every, options.profiles);
    if (!bursts) return std::move(bursts).error().with_context("--every");
    options.windows = *bursts;
    for (const EventsOfKind& length : request.burst_lengths)
        if (auto set = set_length(*options.windows, length, options.profiles); !set)
            return std::move(set).error().with_context(
                fmt::format("--burst-length '{}:{}'", name(length.kind), length.events));
    return {};
}

}  // namespace

Result<RunRequest> parse_run(std::span<const std::string> words, std::string_view environment) {
    std::vector<std::string> rest;
    TRY_ASSIGN(RunRequest request, parse_all(words, environment, Options::before_command, rest));
    TRY_ASSIGN(request.options.command, target_command(std::move(rest)));
    if (request.options.command.empty() && !request.help)
        return Error{ErrorCode::usage, 0, "no program to run"};
    TRY(fit_burst_timing(request));
    TRY(fit_sample_time(request));
    TRY(check_streams(request));
    TRY(check_phases(request));
    const bool exact = request.options.mode == SamplingMode::exact;
    if (exact) TRY(fit_exact_mode(request));
    TRY(settle_bursts(request));
    note_blind_probes(request);
    request.options.follow_forks = request.follow_forks.value_or(!exact);
    return request;
}

Result<RunRequest> parse_attach(std::span<const std::string> words, std::string_view environment) {
    std::vector<std::string> rest;
    TRY_ASSIGN(RunRequest request, parse_all(words, environment, Options::anywhere, rest));
    if (request.help) return request;
    TRY_ASSIGN(request.options.attach_to, process_id(std::move(rest)));
    TRY(fit_burst_timing(request));
    TRY(fit_sample_time(request));
    TRY(check_streams(request));
    TRY(check_phases(request));
    request.options.follow_forks = request.follow_forks.value_or(false);
    if (request.options.mode == SamplingMode::exact)
        return Error{ErrorCode::unsupported, 0,
                     "--mode=exact follows a program from its start, with 'shadowprof run'; a "
                     "running process can be sampled (--mode=shadow)"};
    TRY(settle_bursts(request));
    note_blind_probes(request);
    return request;
}

}  // namespace shadowprof
