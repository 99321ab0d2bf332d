// What a user asks of `shadowprof run` and `attach`, as plain values: no parsing, no defaults from
// outside.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/kinds/profile_kinds.h"
#include "profile/kinds/streams/stream_limits.h"
#include "shadow/request/window_options.h"

namespace shadowprof {

// How samples are taken.
enum class SamplingMode : std::uint8_t {
    automatic,  // `shadow`, or `live` where the target cannot be forked or a fork might harm it
    shadow,     // fork a replica, emulate it while the target goes on
    live,       // emulate what comes next from the memory of the target, which stands still
    exact,      // emulate every instruction, and compare with the target
};

// As --mode takes them and profiles keep them.
inline constexpr std::array<std::string_view, 4> sampling_mode_names = {"auto", "shadow", "live",
                                                                        "exact"};
constexpr std::string_view name(SamplingMode mode) {
    return sampling_mode_names[static_cast<std::size_t>(mode)];
}

// Whose instructions are sampled.
enum class ThreadScope : std::uint8_t {
    all,   // of all threads that execute
    main,  // of the thread whose id is the process id
};

inline constexpr std::array<std::string_view, 2> thread_scope_names = {"all", "main"};
constexpr std::string_view name(ThreadScope scope) {
    return thread_scope_names[static_cast<std::size_t>(scope)];
}

// Whether what the program reads from pipes, sockets and terminals while a sample lives is recorded
// for it, at the price of stops at its system calls.
enum class RecordInput : std::uint8_t {
    as_needed,  // where samples would end at that, within the budget; where there is none, never
    always,
    never,
};

inline constexpr std::array<std::string_view, 3> record_input_names = {"auto", "yes", "no"};
constexpr std::string_view name(RecordInput when) {
    return record_input_names[static_cast<std::size_t>(when)];
}

// What RunOptions::load, budget_percent and cpu_budget_percent are where nothing is asked for.
inline constexpr double default_load = 1;
inline constexpr double default_budget_percent = 1;
inline constexpr double default_cpu_budget_percent = 25;
// How long the target may stand still for a live sample, and how far apart these begin on average.
struct LiveTiming {
    std::chrono::nanoseconds longest_stop{0};
    std::chrono::nanoseconds period{0};

    friend bool operator==(const LiveTiming&, const LiveTiming&) = default;
};

struct RunOptions {
    // The program to run, searched for along PATH if it has no slash, and its arguments; or else
    // the process to attach to.
    std::vector<std::string> command;
    std::optional<pid_t> attach_to;

    SamplingMode mode = SamplingMode::automatic;
    ProfileKinds profiles;  // at least one
    ThreadScope threads = ThreadScope::all;
    StreamLimits streams;                   // where they are collected
    bool follow_forks = false;              // sample the processes that the target starts as well
    std::uint64_t sample_size = 1'000'000;  // instructions per sample, at least 1000
    bool sample_size_is_asked_for = false;  // else live samples have fewer
    // Instead of that, where a replica is sampled: what a thread of the program executes in so much
    // of its time, so that counts are of what it executes, however fast it does so.
    std::optional<std::chrono::nanoseconds> sample_time;
    // Else that is the shortest (shadow/budget/window_length.h).
    bool sample_time_is_asked_for = false;
    static constexpr std::chrono::nanoseconds shortest_sample_time = std::chrono::microseconds(300);
    static constexpr std::chrono::nanoseconds longest_sample_time = std::chrono::milliseconds(3);
    std::optional<LiveTiming> live_timing;  // only with SamplingMode::live
    // Average number of active shadows, whatever they cost if no budget is given; else at most the
    // default, as the budget allows.
    std::optional<double> load;
    // Most slowdown of the target, in percent; without a load or times of live samples it has a
    // default.
    std::optional<double> budget_percent;
    // Most processor time of shadowprof itself, in percent of one processor; without a load or
    // times of live samples it has a default.
    std::optional<double> cpu_budget_percent;
    // The two that hold, by default or as asked for; nothing: none does.
    std::optional<double> budget_in_force() const {
        return has_default_budgets() || budget_percent
                   ? std::optional(budget_percent.value_or(default_budget_percent))
                   : std::nullopt;
    }
    std::optional<double> cpu_budget_in_force() const {
        return has_default_budgets() || cpu_budget_percent
                   ? std::optional(cpu_budget_percent.value_or(default_cpu_budget_percent))
                   : std::nullopt;
    }
    // Who says how many samples there are to be has asked for what they take.
    bool has_default_budgets() const { return !load && !live_timing; }
    RecordInput record_input = RecordInput::as_needed;
    std::optional<WindowOptions> windows;              // nothing: samples count everything
    std::chrono::nanoseconds delay{0};                 // from the start to the first sample
    std::optional<std::chrono::nanoseconds> duration;  // of sampling, after `delay`
    std::optional<std::uint64_t> max_samples;
    // Samples are taken until the errors of the hottest edges are at most this part of their
    // counts.
    std::optional<double> until_converged_percent;
    std::optional<std::uint64_t> seed;  // of every random choice; else from the clock
    bool task_clock = true;       // the kernel's, where it lets us (shadow/program/program_clock.h)
    bool translate_ahead = true;  // between live samples (emu/translation/translator.h)
    std::vector<std::string> probes;  // see probe/probe.h; they can be parsed
    std::size_t value_callers = 1;    // values are kept by so many callers, too
    bool verbose = false;             // also keep TNV tables of values, to compare with

    friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

}  // namespace shadowprof
