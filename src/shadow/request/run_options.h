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

#include "profile/kinds/cache/cache_accesses.h"
#include "profile/kinds/profile_kinds.h"
#include "profile/kinds/streams/stream_limits.h"
#include "profile/profile_size.h"
#include "shadow/request/burst_options.h"

namespace shadowprof {

// How samples are taken.
enum class SamplingMode : std::uint8_t {
    automatic,  // `shadow`, or `live` where the target cannot be forked or a fork might harm it
    shadow,     // fork a replica, emulate it while the target goes on
    live,       // emulate what the target executes next, from its own memory, while it stands still
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
    all,   // all threads that execute
    main,  // the thread whose id is the process id
};

inline constexpr std::array<std::string_view, 2> thread_scope_names = {"all", "main"};
constexpr std::string_view name(ThreadScope scope) {
    return thread_scope_names[static_cast<std::size_t>(scope)];
}

// Whether the target's input from pipes, sockets and terminals is recorded for samples under way.
// Recording stops the target at its system calls.
enum class RecordInput : std::uint8_t {
    as_needed,  // if samples would end for lack of input, and a budget allows it
    always,
    never,
};

inline constexpr std::array<std::string_view, 3> record_input_names = {"auto", "yes", "no"};
constexpr std::string_view name(RecordInput when) {
    return record_input_names[static_cast<std::size_t>(when)];
}

// How running threads are looked at, which tells where the time goes (shadow/looks/looks.h).
enum class LookMethod : std::uint8_t {
    best,   // by the kernel's clock where we may use it, else by stops
    stops,  // by stops of single threads
    none,
};

inline constexpr std::array<std::string_view, 3> look_method_names = {"yes", "stops", "no"};
constexpr std::string_view name(LookMethod method) {
    return look_method_names[static_cast<std::size_t>(method)];
}

// Defaults of RunOptions::load, budget_percent and cpu_budget_percent.
inline constexpr double default_load = 1;
inline constexpr double default_budget_percent = 1;
inline constexpr double default_cpu_budget_percent = 25;
// Default of RunOptions::check_percent.
inline constexpr double default_check_percent = 2;
// How long the target may stand still for a live sample, and the average time between their starts.
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
    // Whether notes name the usual kinds that `profiles` lacks.
    bool notes_unasked_kinds = true;
    // Share of the time that exact mode may spend on running intervals on the hardware as well.
    // Nothing: the default.
    std::optional<double> check_percent;
    // Exact mode: whether clocks follow the instructions that the program executes.
    bool has_virtual_clock = false;
    std::uint64_t max_profile_bytes = default_max_profile_bytes;  // see profile_size.h
    // Exact mode: whether the program counts before it asks to start, and the functions, as globs,
    // within which alone it counts; empty: anywhere.
    bool counts_at_start = true;
    // Exact mode: whether each thread counts before it asks to toggle.
    bool threads_count_at_start = true;
    std::vector<std::string> count_in;
    // The caches that are modelled. Nothing: those of the host.
    std::optional<CacheModel> caches;
    ThreadScope threads = ThreadScope::all;
    StreamLimits streams;                   // used if streams are collected
    bool follow_forks = false;              // sample the processes that the target starts as well
    bool existing_children = false;         // attach: sample those that descend from it already
    std::uint64_t sample_size = 1'000'000;  // instructions per sample, at least 1000
    bool sample_size_is_asked_for = false;  // if false, live samples have fewer
    // Replaces sample_size in shadow samples: a sample has the instructions that a thread of the
    // target executes in this much of its time, so that slow code does not count too often.
    std::optional<std::chrono::nanoseconds> sample_time;
    // If false, sample_time is only the shortest (shadow/budget/window_length.h).
    bool sample_time_is_asked_for = false;
    static constexpr std::chrono::nanoseconds shortest_sample_time = std::chrono::microseconds(300);
    static constexpr std::chrono::nanoseconds longest_sample_time = std::chrono::milliseconds(3);
    std::optional<LiveTiming> live_timing;  // only with SamplingMode::live
    // Average number of replicas that live. If it is given without a budget, they may cost
    // anything. If it is not given, it is at most default_load, and as much as the budgets allow.
    std::optional<double> load;
    // Most slowdown of the target, in percent. It has a default unless a load or live timing is
    // given.
    std::optional<double> budget_percent;
    // Most processor time of shadowprof itself, in percent of one processor. It has a default
    // unless a load or live timing is given.
    std::optional<double> cpu_budget_percent;
    // The budgets in force, given or by default; nothing: there is no such limit.
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
    // A user who says how many samples there are to be accepts their cost, so no default applies.
    bool has_default_budgets() const { return !load && !live_timing; }
    RecordInput record_input = RecordInput::as_needed;
    std::optional<BurstOptions> bursts;                // if not set, samples count everything
    std::chrono::nanoseconds delay{0};                 // from the start to the first sample
    std::optional<std::chrono::nanoseconds> duration;  // how long to sample, after `delay`
    std::optional<std::uint64_t> max_samples;
    // Sampling ends when the errors of the hottest edges are at most this percentage of their
    // counts.
    std::optional<double> until_converged_percent;
    std::optional<std::uint64_t> seed;  // seeds every random choice; nothing: the clock does
    LookMethod looks = LookMethod::best;
    bool translate_ahead = true;  // translate between live samples (emu/translation/translator.h)
    std::vector<std::string> probes;  // must be parsable, see probe/probe.h
    std::size_t value_callers = 1;    // also keep values by this many innermost callers
    bool verbose = false;             // also keep TNV tables of values, for comparison

    friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

}  // namespace shadowprof
