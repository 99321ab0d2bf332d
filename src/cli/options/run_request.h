// What the options of `shadowprof run` and `shadowprof attach` say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/burst_values.h"
#include "shadow/request/run_options.h"

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
    std::optional<EveryValue> every;   // the same, of options.bursts
    std::vector<EventsOfKind> burst_lengths;
    std::string control;  // where commands come from while it runs; empty: from nowhere
    std::string output = "shadowprof.json";
    std::optional<std::chrono::nanoseconds> dump_every;  // a profile of each such interval
    bool quiet = false;
    Progress progress = Progress::on_terminal;
    std::optional<std::string> text;  // to be printed instead of doing anything, as for --help
    std::vector<std::string> notes;   // what the profile must say about the request
};

}  // namespace shadowprof
