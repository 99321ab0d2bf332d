// The options of `shadowprof run` and `shadowprof attach`, from the command line and from
// SHADOWPROF_OPTIONS.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/burst_values.h"
#include "shadow/run_options.h"

namespace shadowprof {

// When a progress line is shown on standard error. `on_terminal`: where that is a terminal to which
// the program does not write.
enum class Progress : std::uint8_t { on_terminal, always, never };

// Everything that the user asked for.
struct RunRequest {
    RunOptions options;
    bool profiles_are_asked_for = false;
    bool stream_limits_are_asked_for = false;
    bool mode_is_asked_for = false;
    std::optional<bool> follow_forks;  // as asked for; options.follow_forks is what comes of it
    std::optional<EveryValue> every;   // the same, of options.windows
    std::vector<EventsOfKind> burst_lengths;
    std::string control;  // where commands come from while it runs; empty: from nowhere
    std::string output = "shadowprof.json";
    std::optional<std::chrono::nanoseconds> dump_every;  // a profile of each such interval
    bool quiet = false;
    Progress progress = Progress::on_terminal;
    bool help = false;               // show the command's help and do nothing else
    std::vector<std::string> notes;  // what the profile must say about the request
};

// Reads the words behind `run`. `environment` is the value of SHADOWPROF_OPTIONS: its options come
// first, so that the command line wins. Everything behind the first word that is no option, and
// everything behind `--`, belongs to the target.
// Errors: usage, naming the option, the value and what is accepted; unsupported for what a later
// version will do.
Result<RunRequest> parse_run(std::span<const std::string> words, std::string_view environment);

// The same of the words behind `attach`, which are options and one process id in any order.
Result<RunRequest> parse_attach(std::span<const std::string> words, std::string_view environment);

// The texts of `shadowprof run --help` and `shadowprof attach --help`.
std::string run_help();
std::string attach_help();

// The options as they were understood, by their long names, for the profile.
std::map<std::string, std::string> describe(const RunRequest& request);

}  // namespace shadowprof
