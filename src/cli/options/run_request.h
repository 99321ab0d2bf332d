// What the options of `shadowprof run` and `shadowprof attach` request.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/burst_values.h"
#include "cli/options/profile_argument.h"
#include "report/symbols/elf/debug_file.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

// When a progress line is shown on standard error. `on_terminal`: if standard error is a terminal
// to which the target does not write.
enum class Progress : std::uint8_t { on_terminal, always, never };

// Everything that the user asked for.
struct RunRequest {
    RunOptions options;
    bool profiles_are_asked_for = false;
    bool stream_limits_are_asked_for = false;
    bool mode_is_asked_for = false;
    std::optional<bool>
        follow_forks;  // the option's value; options.follow_forks is the resulting setting
    std::optional<EveryValue>
        every;  // the option's value; options.bursts has the resulting setting
    std::vector<EventsOfKind> burst_lengths;
    std::string control;  // value of --control; empty: no commands
    std::string output = default_profile;
    std::optional<std::chrono::nanoseconds>
        dump_every;  // length of an interval that gets its own profile
    DebugSearch debug_search = DebugSearch::this_host;
    bool quiet = false;
    bool live = false;  // the run is shown on a screen of its own
    Progress progress = Progress::on_terminal;
    std::optional<std::string> text;  // text to print instead of running, as for --help
    std::vector<std::string> notes;   // remarks about the request, for the profile
};

}  // namespace shadowprof
