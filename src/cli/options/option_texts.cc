#include "cli/options/option_texts.h"

#include "cli/options/option_table.h"
#include "cli/options/profile_kinds.h"

namespace shadowprof {
namespace {

std::string help(std::string_view usage) {
    std::string text(usage);
    for (const OptionRow& row : option_rows()) {
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
    return text +
           "\nOptions may also be given in SHADOWPROF_OPTIONS. Options on the command line take\n"
           "precedence.\n";
}

}  // namespace

std::string run_help() {
    return help(
        "Usage: shadowprof run [options] [--] PROGRAM [ARG...]\n\n"
        "Profiles PROGRAM from its start to its end, and ends with its status or signal.\n"
        "Defaults are in brackets.\n\n");
}

std::string attach_help() {
    return help(
        "Usage: shadowprof attach [options] PID\n\n"
        "Profiles a running process, then lets it go unharmed. Profiling ends at Ctrl-C, or when\n"
        "--duration, --max-samples or --until-converged say so. Defaults are in brackets.\n\n");
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
