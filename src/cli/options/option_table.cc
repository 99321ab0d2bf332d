#include "cli/options/option_table.h"

#include <fmt/ranges.h>

#include "cli/options/control_paths.h"
#include "cli/options/profile_kinds.h"
#include "cli/options/values.h"
#include "probe/probe.h"

namespace shadowprof {
namespace {

using std::string_view;

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

std::vector<OptionRow> made_option_rows() {
    return {
        {"-o,--output", "FILE",
         "the file for the profile; %p is the target's pid, - is standard output [shadowprof.json]",
         set_output},
        {"--mode", "MODE",
         "auto, shadow and live take samples; exact, which only run has, counts everything [auto]",
         set_mode},
        {"--engine", "ENGINE", "emulator is the only one in this version [emulator]", set_engine},
        {"--profiles", "LIST",
         fmt::format("the kinds of profile to collect: some of {}, or all [{}]",
                     fmt::join(profile_kind_words(), ","), profile_kinds_text({})),
         set_profiles},
        {"--stream-length", "MIN..MAX",
         "how many references a data stream has, from 2 to 1000 [2..100]", set_stream_length},
        {"--stream-heat", "PERCENT",
         "the least share that a data stream has of the traced references [0.1%]", set_stream_heat},
        {"--sample-time", "TIME",
         "a sample is what the program executes in this time, from 50us to 100ms; auto is 300us to "
         "3ms, and longer the more processors idle, but 300us with --load [auto]",
         set_sample_time},
        {"--sample-size", "N",
         "instructions per sample, also with k, M or G; this replaces the time, and holds for "
         "samples for which no time is known [1M]",
         set_sample_size},
        {"--budget", "PERCENT",
         "the most that the program may be slowed down, as measured while it runs [1%]",
         set_budget},
        {"--cpu-budget", "PERCENT",
         "the most processor time that shadowprof itself may take, in percent of one processor "
         "[25%; no limit with --load or --burst]",
         set_cpu_budget},
        {"--burst", "TIME/TIME",
         "take only live samples: the longest stop, and how often one is taken on average, such as "
         "2ms/1s [by the budget]",
         set_burst},
        {"--load", "X",
         "average number of replicas that are emulated at a time, at least 0.0625 [up to 1, as the "
         "budgets allow]",
         set_load},
        {"--record-input", "[=WHEN]",
         "record what the program reads from pipes, sockets and terminals, so that samples go on "
         "there, at the cost of a stop at each system call: yes, no, or auto, which is where "
         "samples would end there [auto]",
         set_record_input},
        {"--every", "N[,KIND:N]",
         "inside samples, count only in bursts that are N calls and back-edges apart [off]",
         set_every},
        {"--burst-length", "KIND:N",
         "the length of these bursts in events, for edge, path, call, value, hazard or stream",
         set_burst_length},
        {"--control", "FILE[,ACK]",
         "take commands from a FIFO or a file while the program runs [none]", set_control},
        {"--dump-every", "TIME",
         "also write a profile of each interval of this length, such as shadowprof.0001.json "
         "[none]",
         set_dump_every},
        {"--delay", "TIME", "take no sample before this time, given with us, ms, s or m [0s]",
         set_delay},
        {"--duration", "TIME",
         "take no sample later than this time after the delay [the whole run]", set_duration},
        {"--max-samples", "N", "take at most this many samples [no limit]", set_max_samples},
        {"--until-converged", "[=PERCENT]",
         "sample until the errors of hot edges are at most this part of their counts, then "
         "sparsely [5%]",
         set_until_converged},
        {"--threads", "WHICH", "which threads samples hold: all or main [all]", set_threads},
        {"--follow-forks", "yes|no",
         "also sample the processes that the target starts [run: yes, attach: no]",
         set_follow_forks},
        {"--probe", "EXPR",
         "record what this expression says of instructions; up to 16 probes [none]", set_probe},
        {"--value-callers", "N", "also keep values by this many callers, from the innermost on [1]",
         set_value_callers},
        {"--task-clock", "yes|no",
         "read the kernel's clock of processor time, where it is available [yes]", set_task_clock},
        {"--translate-ahead", "yes|no", "translate code before live samples come to it [yes]",
         set_translate_ahead},
        {"--seed", "N",
         "the seed of every random choice; it is written to the profile [from the clock]",
         set_seed},
        {"-q,--quiet", nullptr, "say nothing but errors", set_quiet},
        {"-v,--verbose", nullptr, "also keep TNV tables of values, for comparison; this is slow",
         set_verbose},
        {"--progress", nullptr,
         "show progress on standard error, even if the program may write there, too", set_progress},
        {"--no-progress", nullptr, "never show progress", set_no_progress},
        {"-h,--help", nullptr, "show this text", set_help},
    };
}

}  // namespace

const std::vector<OptionRow>& option_rows() {
    static const auto rows = made_option_rows();
    return rows;
}

}  // namespace shadowprof
