#include "cli/options.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/suggest.h"
#include "cli/command_line.h"
#include "cli/control_paths.h"
#include "cli/profile_kinds.h"
#include "cli/values.h"
#include "cli/words.h"
#include "probe/probe.h"

namespace shadowprof {
namespace {

using std::string_view;

// By SamplingMode.
constexpr const char* mode_names[] = {"auto", "shadow", "burst", "exact"};

// The value of an option that was given without one (CommandOption::value_may_be_missing).
constexpr string_view no_value = "true";

Error not_yet(string_view what) {
    return {ErrorCode::unsupported, 0, fmt::format("{} is not in this version", what)};
}

Result<void> set_output(RunRequest& request, string_view value) {
    if (value.empty()) return Error{ErrorCode::usage, 0, "accepted is the name of a file, or -"};
    request.output = value;
    return {};
}

Result<void> set_mode(RunRequest& request, string_view value) {
    // `burst` is what `live` was called first.
    constexpr SamplingMode modes[] = {SamplingMode::automatic, SamplingMode::shadow,
                                      SamplingMode::live, SamplingMode::exact, SamplingMode::live};
    TRY_ASSIGN(const std::size_t mode,
               parse_choice(value, {"auto", "shadow", "live", "exact", "burst"}));
    request.options.mode = modes[mode];
    request.mode_is_asked_for = true;
    return {};
}

Result<void> set_engine(RunRequest&, string_view value) {
    TRY_ASSIGN(const std::size_t engine, parse_choice(value, {"emulator", "step"}));
    if (engine != 0) return not_yet("this engine");
    return {};
}

Result<void> set_profiles(RunRequest& request, string_view value) {
    request.notes.clear();
    request.profiles_are_asked_for = true;
    TRY_ASSIGN(request.options.profiles, parse_profile_kinds(value));
    return {};
}

Result<void> set_stream_length(RunRequest& request, string_view value) {
    TRY_ASSIGN(const auto range, parse_range(value, StreamLimits::shortest, StreamLimits::longest));
    request.options.streams.least_length = static_cast<std::uint32_t>(range.least);
    request.options.streams.most_length = static_cast<std::uint32_t>(range.most);
    request.stream_limits_are_asked_for = true;
    return {};
}

Result<void> set_stream_heat(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.streams.least_heat_percent, parse_percent(value));
    request.stream_limits_are_asked_for = true;
    return {};
}

Result<void> set_sample_size(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.sample_size, parse_count(value, 1000));
    request.options.sample_size_is_asked_for = true;
    return {};
}

Result<void> set_sample_time(RunRequest& request, string_view value) {
    using namespace std::chrono_literals;
    if (value == "auto") {
        request.options.sample_time.reset();
        request.options.sample_time_is_asked_for = false;
        return {};
    }
    TRY_ASSIGN(const auto time, parse_duration(value));
    if (time < 50us || time > 100ms)
        return Error{ErrorCode::usage, 0, "accepted is a time from 50us to 100ms, or auto"};
    request.options.sample_time = time;
    request.options.sample_time_is_asked_for = true;
    return {};
}

Result<void> set_load(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.load, parse_load(value));
    return {};
}

Result<void> set_burst(RunRequest& request, string_view value) {
    using namespace std::chrono_literals;
    TRY_ASSIGN(const auto pair, parse_duration_pair(value));
    const LiveTiming timing{pair.first, pair.second};
    if (timing.longest_stop < 100us || timing.longest_stop > 100ms ||
        timing.period < 2 * timing.longest_stop)
        return Error{ErrorCode::usage, 0,
                     "accepted is the longest stop, from 100us to 100ms, and behind a slash how "
                     "often, at least twice as long: 2ms/1s"};
    request.options.live_timing = timing;
    return {};
}

// By RecordInput.
constexpr const char* input_names[] = {"auto", "yes", "no"};

Result<void> set_record_input(RunRequest& request, string_view value) {
    if (value == no_value) {
        request.options.record_input = RecordInput::always;
        return {};
    }
    TRY_ASSIGN(const std::size_t choice, parse_choice(value, {"auto", "yes", "no"}));
    request.options.record_input = static_cast<RecordInput>(choice);
    return {};
}

Result<void> set_duration(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.duration, parse_duration(value));
    return {};
}

Result<void> set_delay(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.delay, parse_duration(value));
    return {};
}

Result<void> set_max_samples(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.max_samples, parse_count(value, 1));
    return {};
}

Result<void> set_until_converged(RunRequest& request, string_view value) {
    constexpr double default_percent = 5;
    request.options.until_converged_percent = default_percent;
    if (value == no_value) return {};
    TRY_ASSIGN(request.options.until_converged_percent, parse_percent(value));
    return {};
}

Result<bool> parse_yes_no(string_view value) {
    TRY_ASSIGN(const std::size_t choice, parse_choice(value, {"yes", "no"}));
    return choice == 0;
}

Result<void> set_task_clock(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.task_clock, parse_yes_no(value));
    return {};
}

Result<void> set_translate_ahead(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.translate_ahead, parse_yes_no(value));
    return {};
}

Result<void> set_follow_forks(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.follow_forks, parse_yes_no(value));
    return {};
}

Result<void> set_threads(RunRequest& request, string_view value) {
    constexpr ThreadScope scopes[] = {ThreadScope::all, ThreadScope::main};
    TRY_ASSIGN(const std::size_t scope, parse_choice(value, {"all", "main"}));
    request.options.threads = scopes[scope];
    return {};
}

Result<void> set_value_callers(RunRequest& request, string_view value) {
    constexpr double most = 8;
    const auto number = parse_number(value, 0, most);
    if (!number || *number != static_cast<double>(static_cast<std::size_t>(*number)))
        return Error{ErrorCode::usage, 0,
                     fmt::format("accepted is a whole number from 0 to {}", most)};
    request.options.value_callers = static_cast<std::size_t>(*number);
    return {};
}

// All of them together, as names must differ.
Result<void> set_probe(RunRequest& request, string_view value) {
    auto texts = request.options.probes;
    texts.emplace_back(value);
    TRY(ProbeSet::parse(texts));
    request.options.probes = std::move(texts);
    return {};
}

Result<void> set_seed(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.seed, parse_u64(value));
    return {};
}

Result<void> set_budget(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.budget_percent, parse_percent(value));
    return {};
}

Result<void> set_cpu_budget(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.cpu_budget_percent, parse_percent(value));
    return {};
}

Result<void> set_every(RunRequest& request, string_view value) {
    TRY_ASSIGN(const EveryValue every, parse_every(value));
    if (!request.every) request.every.emplace();
    request.every->add(every);
    return {};
}

Result<void> set_burst_length(RunRequest& request, string_view value) {
    TRY_ASSIGN(const auto lengths, parse_burst_lengths(value));
    request.burst_lengths.insert(request.burst_lengths.end(), lengths.begin(), lengths.end());
    return {};
}

Result<void> set_control(RunRequest& request, string_view value) {
    TRY(parse_control_paths(value));
    request.control = value;
    return {};
}

Result<void> set_dump_every(RunRequest& request, string_view value) {
    using namespace std::chrono_literals;
    TRY_ASSIGN(const auto interval, parse_duration(value));
    if (interval < 100ms) return Error{ErrorCode::usage, 0, "accepted is a time from 100ms on"};
    request.dump_every = interval;
    return {};
}

Result<void> set_quiet(RunRequest& request, string_view) {
    request.quiet = true;
    return {};
}
Result<void> set_verbose(RunRequest& request, string_view) {
    request.options.verbose = true;
    return {};
}
Result<void> set_progress(RunRequest& request, string_view) {
    request.progress = Progress::always;
    return {};
}
Result<void> set_no_progress(RunRequest& request, string_view) {
    request.progress = Progress::never;
    return {};
}
Result<void> set_help(RunRequest& request, string_view) {
    request.help = true;
    return {};
}

struct OptionRow {
    const char* names;  // "-o,--output"; messages use the last one
    const char* value;  // what it takes; "[=...]" if it may go without; null for a flag
    const char* help;
    Result<void> (*set)(RunRequest&, string_view value);

    string_view long_name() const {
        const string_view all = names;
        return all.substr(all.rfind(',') + 1);
    }
    bool may_go_without_value() const { return value && *value == '['; }
};

constexpr OptionRow option_rows[] = {
    {"-o,--output", "FILE",
     "the profile; %p is the target's pid, - is standard output [shadowprof.json]", set_output},
    {"--mode", "MODE",
     "auto, shadow or live (all take samples); run also has exact (everything) [auto]", set_mode},
    {"--engine", "ENGINE", "emulator, the only one in this version [emulator]", set_engine},
    {"--profiles", "LIST",
     "some of edge,path,value,call,method,latency,hazard,stream, or all [the first five]",
     set_profiles},
    {"--stream-length", "MIN..MAX", "references in a data stream, from 2 to 1000 [2..100]",
     set_stream_length},
    {"--stream-heat", "PERCENT", "least share of the references that a data stream has [0.1%]",
     set_stream_heat},
    {"--sample-time", "TIME",
     "a sample is what the program executes in this time, from 50us to 100ms, or auto: 300us to "
     "3ms, the more the more processors idle; 300us with --load [auto]",
     set_sample_time},
    {"--sample-size", "N",
     "instructions per sample, also with k, M or G: instead of a time, and where none is known "
     "[1M]",
     set_sample_size},
    {"--budget", "PERCENT", "most slowdown of the program, as measured meanwhile [1%]", set_budget},
    {"--cpu-budget", "PERCENT",
     "most processor time of shadowprof itself, of one processor [25%; with --load or --burst: "
     "none]",
     set_cpu_budget},
    {"--burst", "TIME/TIME",
     "live samples alone: the longest stop, and how often on average, as 2ms/1s [by the budget]",
     set_burst},
    {"--load", "X",
     "average number of active shadows, at least 0.0625 [up to 1, as the budgets allow]", set_load},
    {"--record-input", "[=WHEN]",
     "samples go on at what the program reads from pipes, sockets and terminals, which costs a "
     "stop at each system call: yes, no, or auto, where samples would end there [auto]",
     set_record_input},
    {"--every", "N[,KIND:N]",
     "count only in bursts, N calls and back-edges apart, inside samples [off]", set_every},
    {"--burst-length", "KIND:N",
     "length of such bursts, of edge, path, call, value, hazard or stream, in events",
     set_burst_length},
    {"--control", "FILE[,ACK]", "take commands from a FIFO or file while it runs [none]",
     set_control},
    {"--dump-every", "TIME", "also a profile of each such interval, as shadowprof.0001.json [none]",
     set_dump_every},
    {"--delay", "TIME", "take no sample before this, with us, ms, s or m [0s]", set_delay},
    {"--duration", "TIME", "take no sample later than this after the delay [the whole run]",
     set_duration},
    {"--max-samples", "N", "take no more samples than this [no limit]", set_max_samples},
    {"--until-converged", "[=PERCENT]",
     "sample until hot edges are certain to this part of their counts, then sparsely [5%]",
     set_until_converged},
    {"--threads", "WHICH", "which threads samples hold: all, or main [all]", set_threads},
    {"--follow-forks", "yes|no",
     "sample the processes that the target starts as well [run: yes, attach: no]",
     set_follow_forks},
    {"--probe", "EXPR", "record what this says of instructions; up to 16 of them [none]",
     set_probe},
    {"--value-callers", "N", "keep values by so many callers, too, from the innermost on [1]",
     set_value_callers},
    {"--task-clock", "yes|no",
     "read the kernel's clock of processor time, where that can be had [yes]", set_task_clock},
    {"--translate-ahead", "yes|no", "translate code before live samples come by it [yes]",
     set_translate_ahead},
    {"--seed", "N", "of every random choice [from the clock, written to the profile]", set_seed},
    {"-q,--quiet", nullptr, "say nothing but errors", set_quiet},
    {"-v,--verbose", nullptr, "also keep TNV tables of values, to compare with", set_verbose},
    {"--progress", nullptr, "show progress on standard error, where the program may write, too",
     set_progress},
    {"--no-progress", nullptr, "never show progress", set_no_progress},
    {"-h,--help", nullptr, "show this text", set_help},
};

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
    for (const OptionRow& row : option_rows) {
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
    std::array<string_view, std::size(option_rows)> names;
    std::transform(std::begin(option_rows), std::end(option_rows), names.begin(),
                   [](const OptionRow& row) { return row.long_name(); });
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

namespace {

std::string help(std::string_view usage) {
    std::string text(usage);
    for (const OptionRow& row : option_rows) {
        const std::string_view names = row.names;
        const std::size_t comma = names.find(',');
        const std::string_view short_name =
            comma == std::string_view::npos ? "" : names.substr(0, comma);
        const std::string left =
            row.value == nullptr ? std::string(row.long_name())
                                 : fmt::format("{}{}{}", row.long_name(),
                                               row.may_go_without_value() ? "" : " ", row.value);
        text += fmt::format("  {:<2}{} {:<27} {}\n", short_name, short_name.empty() ? ' ' : ',',
                            left, row.help);
    }
    return text + "\nOptions may also stand in SHADOWPROF_OPTIONS; the command line wins.\n";
}

}  // namespace

std::string run_help() {
    return help(
        "Usage: shadowprof run [options] [--] PROGRAM [ARG...]\n\n"
        "Profiles PROGRAM from its start and ends as it ends. Defaults are in brackets.\n\n");
}

std::string attach_help() {
    return help(
        "Usage: shadowprof attach [options] PID\n\n"
        "Profiles a running process and lets it go unharmed: at Ctrl-C, or when --duration,\n"
        "--max-samples or --until-converged say so. Defaults are in brackets.\n\n");
}

std::map<std::string, std::string> describe(const RunRequest& request) {
    const RunOptions& options = request.options;
    std::map<std::string, std::string> text = {
        {"output", request.output},
        {"mode", mode_names[static_cast<std::size_t>(options.mode)]},
        {"engine", "emulator"},
        {"profiles", profile_kinds_text(options.profiles)},
        {"delay", fmt::format("{}us", options.delay.count() / 1000)},
        {"value-callers", std::to_string(options.value_callers)},
        {"threads", options.threads == ThreadScope::all ? "all" : "main"},
        {"follow-forks", options.follow_forks ? "yes" : "no"},
        {"record-input", input_names[static_cast<std::size_t>(options.record_input)]},
        {"task-clock", options.task_clock ? "yes" : "no"},
        {"translate-ahead", options.translate_ahead ? "yes" : "no"},
    };
    if (options.sample_time)
        text["sample-time"] = options.sample_time_is_asked_for
                                  ? fmt::format("{}us", options.sample_time->count() / 1000)
                                  : "auto";
    else
        text["sample-size"] = std::to_string(options.sample_size);
    if (options.profiles.has<StreamList>()) {
        text["stream-length"] =
            fmt::format("{}..{}", options.streams.least_length, options.streams.most_length);
        text["stream-heat"] = fmt::format("{}%", options.streams.least_heat_percent);
    }
    if (options.load) text["load"] = fmt::format("{}", *options.load);
    if (const auto percent = options.budget_in_force())
        text["budget"] = fmt::format("{}%", *percent);
    if (const auto percent = options.cpu_budget_in_force())
        text["cpu-budget"] = fmt::format("{}%", *percent);
    if (options.windows) {
        text["every"] = every_text(*options.windows, options.profiles);
        text["burst-length"] = lengths_text(*options.windows, options.profiles);
    }
    if (!request.control.empty()) text["control"] = request.control;
    if (request.dump_every)
        text["dump-every"] = fmt::format("{}us", request.dump_every->count() / 1000);
    for (std::size_t i = 0; i < options.probes.size(); ++i)
        text[fmt::format("probe{}", i + 1)] = options.probes[i];
    if (options.duration) text["duration"] = fmt::format("{}us", options.duration->count() / 1000);
    if (options.live_timing)
        text["burst"] = fmt::format("{}us/{}us", options.live_timing->longest_stop.count() / 1000,
                                    options.live_timing->period.count() / 1000);
    if (options.attach_to) text["attach"] = std::to_string(*options.attach_to);
    if (options.until_converged_percent)
        text["until-converged"] = fmt::format("{}%", *options.until_converged_percent);
    if (options.max_samples) text["max-samples"] = std::to_string(*options.max_samples);
    return text;
}

}  // namespace shadowprof
