#include "cli/options/option_table.h"

#include <fmt/ranges.h>

#include <iterator>

#include "cli/options/control_paths.h"
#include "cli/options/profile_kinds.h"
#include "cli/options/values.h"
#include "probe/glob.h"
#include "probe/probe.h"
#include "report/profile_file/save_profile.h"
#include "shadow/request/probe_request.h"

namespace shadowprof {
namespace {

using namespace std::chrono_literals;
using std::string_view;
using Nanoseconds = std::chrono::nanoseconds;
using Rows = std::vector<OptionRow>;
using Kept = std::optional<std::string>;

constexpr double default_converged_percent = 5;
constexpr double max_value_callers = 8;
constexpr Nanoseconds min_sample_time = 50us, max_sample_time = 100ms;
constexpr Nanoseconds min_live_stop = 100us, max_live_stop = 100ms;
constexpr Nanoseconds min_dump_interval = 100ms;
constexpr std::uint64_t min_sample_size = 1000;

Error must_be(string_view what) {
    return {ErrorCode::usage, 0, fmt::format("must be {}", what)};
}

std::string microseconds(Nanoseconds time) {
    return fmt::format("{}us", time.count() / 1000);
}

// As users type it: "300us", "3ms".
std::string typed(Nanoseconds time) {
    return time % 1ms == 0ns ? fmt::format("{}ms", time / 1ms) : fmt::format("{}us", time / 1us);
}

// Returns a setter that assigns the result of `parse`.
template <typename Into, typename Value>
SetOption set_parsed(Into& into, Result<Value> (*parse)(string_view)) {
    return [&into, parse](string_view value) -> Result<void> {
        TRY_ASSIGN(into, parse(value));
        return {};
    };
}

OptionRow yes_no(const char* names, bool& into, const char* help) {
    return {.names = names,
            .value = "yes|no",
            .help = help,
            .words = {"yes", "no"},
            .choose = [&into](std::size_t choice) { into = choice == 0; },
            .kept = [&into]() -> Kept { return into ? "yes" : "no"; }};
}

Result<void> set_mode(RunRequest& request, string_view value) {
    // `burst` is the older name of `live`.
    TRY_ASSIGN(const auto mode,
               parse_choice(value == "burst" ? "live" : value, sampling_mode_names));
    request.options.mode = static_cast<SamplingMode>(mode);
    request.mode_is_asked_for = true;
    return {};
}

Result<void> set_engine(string_view value) {
    if (value == "step")
        return Error{ErrorCode::unsupported, 0,
                     "this engine is not in this version; leave --engine out"};
    constexpr string_view engines[] = {"emulator"};
    TRY(parse_choice(value, engines));
    return {};
}

Result<void> set_profiles(RunRequest& request, string_view value) {
    request.profiles_are_asked_for = true;
    TRY_ASSIGN(request.options.profiles, parse_profile_kinds(value));
    return {};
}

Result<void> set_stream_length(RunRequest& request, string_view value) {
    TRY_ASSIGN(const auto range, parse_range(value, StreamLimits::shortest, StreamLimits::longest));
    request.options.streams.min_length = static_cast<std::uint32_t>(range.least);
    request.options.streams.max_length = static_cast<std::uint32_t>(range.most);
    request.stream_limits_are_asked_for = true;
    return {};
}

Result<void> set_stream_heat(RunRequest& request, string_view value) {
    TRY_ASSIGN(request.options.streams.min_heat_percent, parse_percent(value));
    request.stream_limits_are_asked_for = true;
    return {};
}

Result<void> set_sample_size(RunOptions& options, string_view value) {
    TRY_ASSIGN(options.sample_size, parse_count(value, min_sample_size));
    options.sample_size_is_asked_for = true;
    return {};
}

Result<void> set_sample_time(RunOptions& options, string_view value) {
    options.sample_time.reset();
    options.sample_time_is_asked_for = value != "auto";
    if (value == "auto") return {};
    TRY_ASSIGN(const auto time, parse_duration(value));
    if (time < min_sample_time || time > max_sample_time)
        return must_be(fmt::format("a time from {} to {}, or auto", typed(min_sample_time),
                                   typed(max_sample_time)));
    options.sample_time = time;
    return {};
}

Result<void> set_live_timing(RunOptions& options, string_view value) {
    TRY_ASSIGN(const auto pair, parse_duration_pair(value));
    const LiveTiming timing{pair.first, pair.second};
    if (timing.longest_stop < min_live_stop || timing.longest_stop > max_live_stop ||
        timing.period < 2 * timing.longest_stop)
        return must_be(fmt::format(
            "the longest stop, from {} to {}, a slash, and the average time from one sample to the "
            "next, at least twice as long: 2ms/1s",
            typed(min_live_stop), typed(max_live_stop)));
    options.live_timing = timing;
    return {};
}

Result<void> set_record_input(RunOptions& options, string_view value) {
    TRY_ASSIGN(const std::size_t choice,
               parse_choice(value == no_value ? "yes" : value, record_input_names));
    options.record_input = static_cast<RecordInput>(choice);
    return {};
}

Result<void> set_until_converged(RunOptions& options, string_view value) {
    options.until_converged_percent = default_converged_percent;
    if (value == no_value) return {};
    TRY_ASSIGN(options.until_converged_percent, parse_percent(value));
    return {};
}

Result<void> set_value_callers(RunOptions& options, string_view value) {
    const auto number = parse_number(value, 0, max_value_callers);
    if (!number || *number != static_cast<double>(static_cast<std::size_t>(*number)))
        return must_be(fmt::format("a whole number from 0 to {}", max_value_callers));
    options.value_callers = static_cast<std::size_t>(*number);
    return {};
}

// Parses all probes again, because their names must differ.
Result<void> add_probe(RunOptions& options, string_view value) {
    auto texts = options.probes;
    texts.emplace_back(value);
    TRY(ProbeSet::parse(texts));
    options.probes = std::move(texts);
    return {};
}

Result<void> add_every(RunRequest& request, string_view value) {
    TRY_ASSIGN(const EveryValue every, parse_every(value));
    if (!request.every) request.every.emplace();
    request.every->add(every);
    return {};
}

Result<void> add_burst_lengths(RunRequest& request, string_view value) {
    TRY_ASSIGN(const auto lengths, parse_burst_lengths(value));
    request.burst_lengths.insert(request.burst_lengths.end(), lengths.begin(), lengths.end());
    return {};
}

Result<void> set_output(RunRequest& request, string_view value) {
    TRY(set_file_name(request.output)(value));
    TRY(check_profile_name(request.output));
    return {};
}

Result<void> set_control(RunRequest& request, string_view value) {
    TRY(parse_control_paths(value));
    request.control = value;
    return {};
}

Result<void> set_dump_every(RunRequest& request, string_view value) {
    TRY_ASSIGN(const auto interval, parse_duration(value));
    if (interval < min_dump_interval)
        return must_be(fmt::format("a time of at least {}", typed(min_dump_interval)));
    request.dump_every = interval;
    return {};
}

// Options for what is collected.
Rows profile_options(RunRequest& request) {
    RunOptions& options = request.options;
    const auto kinds = profile_kind_words();
    std::vector<string_view> kinds_or_all(kinds.begin(), kinds.end());
    kinds_or_all.emplace_back("all");
    return {
        {.names = "--profiles",
         .value = "LIST",
         .help = fmt::format("the kinds of profile to collect: some of {}, or all [{}]",
                             fmt::join(kinds, ", "), profile_kinds_text({})),
         .words = kinds_or_all,
         .set = [&](auto value) { return set_profiles(request, value); },
         .kept = [&]() -> Kept { return profile_kinds_text(options.profiles); },
         .takes_list = true},
        {.names = "--stream-length",
         .value = "MIN..MAX",
         .help = fmt::format("how many references a data stream has, from {} to {} [{}..{}]",
                             StreamLimits::shortest, StreamLimits::longest,
                             StreamLimits{}.min_length, StreamLimits{}.max_length),
         .set = [&](auto value) { return set_stream_length(request, value); },
         .kept = [&]() -> Kept {
             if (!options.profiles.has<StreamList>()) return std::nullopt;
             return fmt::format("{}..{}", options.streams.min_length, options.streams.max_length);
         }},
        {.names = "--stream-heat",
         .value = "PERCENT",
         .help =
             fmt::format("the least share that a data stream has of the traced references [{}%]",
                         StreamLimits{}.min_heat_percent),
         .set = [&](auto value) { return set_stream_heat(request, value); },
         .kept = [&]() -> Kept {
             if (!options.profiles.has<StreamList>()) return std::nullopt;
             return fmt::format("{}%", options.streams.min_heat_percent);
         }},
        {.names = "--value-callers",
         .value = "N",
         .help = fmt::format(
             "also keep values by this many callers, from the innermost on, up to {} [1]",
             max_value_callers),
         .set = [&](auto value) { return set_value_callers(options, value); },
         .kept = [&]() -> Kept { return std::to_string(options.value_callers); }},
        {.names = "--probe",
         .value = "EXPR",
         .help =
             fmt::format("record what this expression says of instructions; up to {} probes [none]",
                         ProbeSet::max_probes),
         .set = [&](auto value) { return add_probe(options, value); }},
        {.names = "--every",
         .value = "N[,KIND:N]",
         .help = "inside samples, count only in bursts that are N calls and back-edges apart [off]",
         .set = [&](auto value) { return add_every(request, value); },
         .kept = [&]() -> Kept {
             if (!options.bursts) return std::nullopt;
             return every_text(*options.bursts, options.profiles);
         }},
        {.names = "--burst-length",
         .value = "KIND:N",
         .help =
             "the length of these bursts in events, for edge, path, call, value, hazard or stream",
         .set = [&](auto value) { return add_burst_lengths(request, value); },
         .kept = [&]() -> Kept {
             if (!options.bursts) return std::nullopt;
             return lengths_text(*options.bursts, options.profiles);
         }},
        {.names = "-v,--verbose",
         .help = "also keep TNV tables of values, for comparison; this is slow",
         .set = set_flag(options.verbose)},
    };
}

// Options for how samples are taken.
Rows sampling_options(RunRequest& request) {
    RunOptions& options = request.options;
    return {
        {.names = "--mode",
         .value = "MODE",
         .help = "auto, shadow and live take samples; exact, which only run has, counts everything "
                 "[auto]",
         .words = {sampling_mode_names.begin(), sampling_mode_names.end()},
         .set = [&](auto value) { return set_mode(request, value); },
         .kept = [&]() -> Kept { return std::string(name(options.mode)); }},
        {.names = "--engine",
         .value = "ENGINE",
         .help = "emulator is the only one in this version [emulator]",
         .words = {"emulator"},
         .set = set_engine,
         .kept = []() -> Kept { return "emulator"; }},
        {.names = "--sample-time",
         .value = "TIME",
         .help = fmt::format("a sample is what the program executes in this time, from {} to {}; "
                             "auto is {} to {}, and longer the more processors idle, but {} with "
                             "--load [auto]",
                             typed(min_sample_time), typed(max_sample_time),
                             typed(RunOptions::shortest_sample_time),
                             typed(RunOptions::longest_sample_time),
                             typed(RunOptions::shortest_sample_time)),
         .set = [&](auto value) { return set_sample_time(options, value); },
         .kept = [&]() -> Kept {
             if (!options.sample_time) return std::nullopt;
             return options.sample_time_is_asked_for ? microseconds(*options.sample_time) : "auto";
         }},
        {.names = "--sample-size",
         .value = "N",
         .help = "instructions per sample, also with k, M or G; this replaces the time, and holds "
                 "for samples for which no time is known [1M]",
         .set = [&](auto value) { return set_sample_size(options, value); },
         .kept = [&]() -> Kept {
             if (options.sample_time) return std::nullopt;
             return std::to_string(options.sample_size);
         }},
        {.names = "--threads",
         .value = "WHICH",
         .help = "which threads samples hold: all or main [all]",
         .words = {thread_scope_names.begin(), thread_scope_names.end()},
         .choose = [&](std::size_t scope) { options.threads = static_cast<ThreadScope>(scope); },
         .kept = [&]() -> Kept { return std::string(name(options.threads)); }},
        {.names = "--follow-forks",
         .value = "yes|no",
         .help = "also profile the processes that the target starts [run: yes, but not with "
                 "--mode=exact; attach: no]",
         .words = {"yes", "no"},
         .choose = [&](std::size_t choice) { request.follow_forks = choice == 0; },
         .kept = [&]() -> Kept { return options.follow_forks ? "yes" : "no"; }},
        {.names = "--record-input",
         .value = "[=WHEN]",
         .help = "record what the program reads from pipes, sockets and terminals, so that samples "
                 "go on there, at the cost of a stop at each system call: yes, no, or auto, which "
                 "is where samples would end there [auto]",
         .words = {record_input_names.begin(), record_input_names.end()},
         .set = [&](auto value) { return set_record_input(options, value); },
         .kept = [&]() -> Kept { return std::string(name(options.record_input)); }},
        {.names = "--looks",
         .value = "yes|stops|no",
         .help = "look at running threads at random moments, which tells where the time goes: by "
                 "the kernel's clock where that is allowed, else or with `stops` by short stops "
                 "[yes]",
         .words = {look_method_names.begin(), look_method_names.end()},
         .choose = [&](auto choice) { options.looks = static_cast<LookMethod>(choice); },
         .kept = [&]() -> Kept { return std::string(name(options.looks)); }},
        yes_no("--translate-ahead", options.translate_ahead,
               "translate code before live samples come to it [yes]"),
        {.names = "--seed",
         .value = "N",
         .help = "the seed of every random choice; it is written to the profile [from the clock]",
         .set = set_parsed(options.seed, parse_u64)},
    };
}

// Options for how much is sampled, and when.
Rows amount_options(RunRequest& request) {
    RunOptions& options = request.options;
    OptionRow at_start = yes_no("--count-at-start", options.counts_at_start,
                                "exact mode: whether to count before the program asks to start "
                                "(shadowprof.h, callgrind.h) [yes]");
    at_start.kept = [&]() -> Kept { return options.counts_at_start ? std::nullopt : Kept("no"); };
    return {
        {.names = "--budget",
         .value = "PERCENT",
         .help =
             fmt::format("the most that the program may be slowed down, as measured while it runs "
                         "[{}%]",
                         default_budget_percent),
         .set = set_parsed(options.budget_percent, parse_percent),
         .kept = [&]() -> Kept {
             const auto percent = options.budget_in_force();
             return percent ? Kept(fmt::format("{}%", *percent)) : std::nullopt;
         }},
        {.names = "--cpu-budget",
         .value = "PERCENT",
         .help =
             fmt::format("the most processor time that shadowprof itself may take, in percent of "
                         "one processor [{}%; no limit with --load or --live-timing]",
                         default_cpu_budget_percent),
         .set = set_parsed(options.cpu_budget_percent, parse_percent),
         .kept = [&]() -> Kept {
             const auto percent = options.cpu_budget_in_force();
             return percent ? Kept(fmt::format("{}%", *percent)) : std::nullopt;
         }},
        {.names = "--clock",
         .value = "WHICH",
         .help = "exact mode: what the program's clocks follow: the host's time, or with virtual "
                 "its own instructions, so that counts repeat [host]",
         .words = {"host", "virtual"},
         .choose = [&](std::size_t which) { options.has_virtual_clock = which == 1; },
         .kept = [&]() -> Kept {
             return options.has_virtual_clock ? Kept("virtual") : std::nullopt;
         }},
        {.names = "--check",
         .value = "PERCENT",
         .help = fmt::format("exact mode: the most time for running intervals on the hardware as "
                             "well, to compare them; 0 for none [{}%]",
                             default_check_percent),
         .set = [&](string_view value) -> Result<void> {
             if (value == "0" || value == "0%") {
                 options.check_percent = 0;
                 return {};
             }
             return set_parsed(options.check_percent, parse_percent)(value);
         },
         .kept = [&]() -> Kept {
             if (options.mode != SamplingMode::exact || options.has_virtual_clock)
                 return std::nullopt;
             return fmt::format("{}%", options.check_percent.value_or(default_check_percent));
         }},
        {.names = "--count-in",
         .value = "FUNCTION",
         .help = "exact mode: count only within functions with such a name, from their call to "
                 "their return, with all that they call; * and ? are wildcards; can be given "
                 "several times",
         .set = [&](auto value) { return add_counted_function(options.count_in, value); },
         .kept = [&]() -> Kept {
             if (options.count_in.empty()) return std::nullopt;
             return fmt::format("{}", fmt::join(options.count_in, " "));
         }},
        std::move(at_start),
        {.names = "--load",
         .value = "X",
         .help =
             fmt::format("average number of replicas that are emulated at a time, at least {} [up "
                         "to {}, as the budgets allow]",
                         min_load, default_load),
         .set = set_parsed(options.load, parse_load),
         .kept = [&]() -> Kept {
             return options.load ? Kept(fmt::format("{}", *options.load)) : std::nullopt;
         }},
        {.names = "--live-timing",
         .old_name = "--burst",
         .value = "TIME/TIME",
         .help = "take only live samples: the longest stop, and how often one is taken on average, "
                 "such as 2ms/1s [by the budget]",
         .set = [&](auto value) { return set_live_timing(options, value); },
         .kept = [&]() -> Kept {
             if (!options.live_timing) return std::nullopt;
             return microseconds(options.live_timing->longest_stop) + '/' +
                    microseconds(options.live_timing->period);
         }},
        {.names = "--delay",
         .value = "TIME",
         .help = "take no sample before this time: seconds, or a number with us, ms, s or m [0s]",
         .set = set_parsed(options.delay, parse_duration),
         .kept = [&]() -> Kept { return microseconds(options.delay); }},
        {.names = "--duration",
         .value = "TIME",
         .help =
             "take no sample later than this time after the delay, such as 5 (seconds) or 500ms "
             "[the whole run]",
         .set = set_parsed(options.duration, parse_duration),
         .kept = [&]() -> Kept {
             return options.duration ? Kept(microseconds(*options.duration)) : std::nullopt;
         }},
        {.names = "--max-samples",
         .value = "N",
         .help = "take at most this many samples [no limit]",
         .set = [&](string_view value) -> Result<void> {
             TRY_ASSIGN(options.max_samples, parse_count(value, 1));
             return {};
         },
         .kept = [&]() -> Kept {
             return options.max_samples ? Kept(std::to_string(*options.max_samples)) : std::nullopt;
         }},
        {.names = "--until-converged",
         .value = "[=PERCENT]",
         .help = fmt::format("sample until the errors of hot edges are at most this part of their "
                             "counts, then sparsely [{}%]",
                             default_converged_percent),
         .set = [&](auto value) { return set_until_converged(options, value); },
         .kept = [&]() -> Kept {
             const auto percent = options.until_converged_percent;
             return percent ? Kept(fmt::format("{}%", *percent)) : std::nullopt;
         }},
    };
}

// Options for the output.
Rows output_options(RunRequest& request) {
    return {
        {.names = "-o,--output",
         .value = "FILE",
         .help =
             fmt::format("the file for the profile, compressed if it ends in .gz or .zst; %p is "
                         "the target's pid, - is standard output [{}]",
                         default_profile),
         .set = [&](auto value) { return set_output(request, value); },
         .kept = [&]() -> Kept { return request.output; }},
        {.names = "--max-size",
         .value = "BYTES",
         .help = "the size of the profile, also with k, M or G: call stacks may take three eighths "
                 "of it, and paths a quarter [32M]",
         .set = set_profile_size(request.options.max_profile_bytes),
         .kept = [&]() -> Kept { return std::to_string(request.options.max_profile_bytes); }},
        {.names = "--dump-every",
         .value = "TIME",
         .help =
             "also write a profile of each interval of this length, such as 10 (seconds) or 500ms, "
             "to files such as shadowprof.0001.json [none]",
         .set = [&](auto value) { return set_dump_every(request, value); },
         .kept = [&]() -> Kept {
             return request.dump_every ? Kept(microseconds(*request.dump_every)) : std::nullopt;
         }},
        {.names = "--control",
         .value = "FILE[,ACK]",
         .help = "take commands from a FIFO or a file while the program runs [none]",
         .set = [&](auto value) { return set_control(request, value); },
         .kept = [&]() -> Kept {
             return request.control.empty() ? std::nullopt : Kept(request.control);
         }},
        {.names = "--live",
         .help = "show on the terminal what is hottest while the program runs; its output must go "
                 "elsewhere",
         .set = set_flag(request.live)},
        {.names = "--debuginfod",
         .help = "also get debug information from the servers in DEBUGINFOD_URLS",
         .set = [&](string_view) -> Result<void> {
             request.debug_search = DebugSearch::servers_too;
             return {};
         }},
        {.names = "-q,--quiet", .help = "say nothing but errors", .set = set_flag(request.quiet)},
        {.names = "--progress",
         .help = "show progress on standard error, even if the program may write there, too",
         .set = [&](string_view) -> Result<void> {
             request.progress = Progress::always;
             return {};
         }},
        {.names = "--no-progress",
         .help = "never show progress",
         .set = [&](string_view) -> Result<void> {
             request.progress = Progress::never;
             return {};
         }},
    };
}

}  // namespace

std::vector<OptionRow> run_options(RunRequest& request) {
    Rows all;
    for (Rows (*part)(RunRequest&) :
         {output_options, profile_options, sampling_options, amount_options}) {
        Rows more = part(request);
        std::ranges::move(more, std::back_inserter(all));
    }
    return all;
}

std::vector<OptionRow> attach_options(RunRequest& request) {
    Rows all = run_options(request);
    bool& children = request.options.existing_children;
    all.push_back(
        {.names = "--children",
         .help = "also profile the processes that descend from PID already",
         .set = set_flag(children),
         .kept = [&children]() -> Kept { return children ? Kept("yes") : std::nullopt; }});
    return all;
}

Result<void> add_counted_function(std::vector<std::string>& functions, string_view glob) {
    if (glob.empty()) return must_be("the name of a function");
    TRY(check_glob(glob));
    functions.emplace_back(glob);
    if (ProbeSet::parse(entries_of_functions(functions))) return {};
    return must_be(
        fmt::format("the name of a function, with * and ? as wildcards, at most {} times",
                    ProbeSet::max_probes));
}

std::map<std::string, std::string> describe(const RunRequest& request) {
    std::map<std::string, std::string> text;
    RunRequest copy = request;
    for (const OptionRow& row : copy.options.attach_to ? attach_options(copy) : run_options(copy))
        if (const auto kept = row.kept ? row.kept() : std::nullopt)
            text.emplace(row.long_name().substr(2), *kept);
    for (std::size_t i = 0; i < request.options.probes.size(); ++i)
        text[fmt::format("probe{}", i + 1)] = request.options.probes[i];
    if (request.options.attach_to) text["attach"] = std::to_string(*request.options.attach_to);
    return text;
}

}  // namespace shadowprof
