// A profile as a value: collectors fill it, profiles are merged, and reports are made from it.
// Nothing in it depends on the addresses at which a run loaded its modules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/addresses/address_pattern.h"
#include "profile/kinds/allocations/allocation.h"
#include "profile/kinds/branches/predicted_branch.h"
#include "profile/kinds/cache/cache_accesses.h"
#include "profile/kinds/call_costs/call_cost.h"
#include "profile/kinds/calls/call_pair.h"
#include "profile/kinds/edges/edge.h"
#include "profile/kinds/hazards/hazard.h"
#include "profile/kinds/latency/load_latency.h"
#include "profile/kinds/methods/method.h"
#include "profile/kinds/paths/path.h"
#include "profile/kinds/probes/probe_profile.h"
#include "profile/kinds/stacks/stack.h"
#include "profile/kinds/streams/data_stream.h"
#include "profile/kinds/system_calls/system_call.h"
#include "profile/kinds/threads/thread_profile.h"
#include "profile/kinds/times/place_time.h"
#include "profile/kinds/values/value_profile.h"
#include "profile/kinds/waits/wait.h"
#include "profile/timeline.h"

namespace shadowprof {

// A file with code, or the pseudo-module "[anon]" for code without a file, or "[vdso]".
struct Module {
    std::string path;
    std::string build_id;          // lower-case hexadecimal; empty if there is none
    std::uint64_t size_bytes = 0;  // file size; 0 for pseudo-modules
};

// The name of a function of a script (code/script_functions.h). Not part of the file, which has it
// with the location.
struct ScriptFunction {
    CodeLocation at;
    std::string name;
};

// Instructions by the function that executed them (the last of Stack::frames) and by batch of
// samples. The errors of sums of stacks follow from them. Not part of the file.
struct FunctionBatches {
    struct Size {
        double instructions = 0;
        double time_ns = 0;
    };
    struct Part {
        CodeLocation at;
        std::uint32_t batch = 0;
        double instructions = 0;
    };
    struct Numbers {
        std::uint64_t looks = 0, samples = 0;
    };
    std::vector<Size> sizes;  // by batch
    std::vector<Part> parts;
    // The end of each stratum of known time, as a batch number (batch_means.h).
    std::vector<std::uint32_t> stratum_ends = {};
    Numbers numbers = {};
};

// Distribution of a duration, in microseconds.
struct DurationStats {
    double p50_us = 0, p99_us = 0, max_us = 0;
};

// Statistics of exact mode, in which every instruction is emulated, from one system call to the
// next.
struct ExactStats {
    std::uint64_t intervals = 0;  // intervals emulated
    std::uint64_t compared = 0;   // those that the hardware ran as well, from the same state
    std::uint64_t diverged = 0;   // those whose end differed from the hardware's
    std::uint64_t pages_compared = 0;
    std::uint64_t native_instructions = 0;  // executed by the hardware alone
    std::uint64_t signals = 0;  // signals from outside, delivered at the end of an interval
    std::map<std::string, std::uint64_t> boundaries;  // intervals by what ended them
    std::map<std::string, std::uint64_t> excluded;    // intervals not compared, by reason
    std::string stopped_early;                        // why the rest of the run is not covered

    double diverged_share() const {
        return compared ? static_cast<double>(diverged) / static_cast<double>(compared) : 0;
    }
};

// The outcome of sampling until the errors of hot edges were small (`--until-converged`).
struct Convergence {
    double limit_percent = 0;              // limit for the error, relative to an edge's count
    bool reached = false;                  // reached and not lost again
    std::optional<double> error_percent;   // when it was reached, or in the end; nothing: too few
                                           // samples
    std::optional<double> seconds;         // from the run's begin until it was reached
    std::optional<std::uint64_t> samples;  // until it was reached
    // How often it was reached and then lost again, by a new phase or larger errors.
    std::uint64_t taken_up_again = 0;

    friend bool operator==(const Convergence&, const Convergence&) = default;
};

// Statistics of a run with bursts (profile/flow/event_bursts.h).
struct BurstStats {
    // As configured at the run's begin; nothing if merged profiles do not agree.
    std::uint64_t every = 0;                       // events between bursts, on average
    std::string events;                            // the kinds of events: "calls+backedges"
    std::map<std::string, std::uint64_t> lengths;  // in events, by kind of profile
    // `every` of kinds with bursts of their own.
    std::map<std::string, std::uint64_t> own_every = {};

    std::uint64_t events_counted = 0;
    std::uint64_t bursts = 0;  // a burst of several kinds counts once
    std::map<std::string, std::uint64_t> bursts_by_kind = {};
    std::map<std::string, std::uint64_t> events_in_bursts;  // by kind

    friend bool operator==(const BurstStats&, const BurstStats&) = default;
};

// A change by the user while samples were taken.
struct SamplingChange {
    double seconds = 0;         // since the run began
    std::uint64_t samples = 0;  // samples begun by then
    std::string what;           // the command, or the signal

    friend bool operator==(const SamplingChange&, const SamplingChange&) = default;
};
inline constexpr std::size_t max_sampling_changes = 100;

struct SamplingStats {
    std::string mode;
    std::uint64_t samples = 0;
    std::uint64_t instructions = 0;  // emulated and counted in the profiles
    double emulation_seconds = 0;    // processor time in emulator and collectors
    std::optional<std::uint64_t> target_instructions;
    std::map<std::string, std::uint64_t> ended;  // by name(SampleEnd)
    std::uint64_t single_stepped = 0;
    // Counters that are always there: translated blocks and instructions, pages fetched, ...
    std::map<std::string, std::uint64_t> counters;
    std::optional<ExactStats> exact;         // in exact mode
    std::optional<Convergence> convergence;  // if it was asked for
    std::optional<BurstStats> bursts;
    std::vector<SamplingChange> changes;  // the earliest, at most max_sampling_changes
    std::uint64_t changes_left_out = 0;
};

struct Overhead {
    std::uint64_t stops = 0;
    double stopped_seconds = 0;
    DurationStats pause;
    std::uint64_t forks = 0;
    DurationStats fork;
    std::uint64_t induced_faults = 0;
    double waited_seconds = 0;  // while shadowprof had the processors
    double profiler_cpu_seconds = 0;
    double budget_percent = 0;
    double estimated_slowdown_percent = 0;
};

struct SyscallStats {
    std::map<std::string, std::uint64_t> by_class;  // benign, output, input, misc, unsafe
    std::map<std::string, std::uint64_t> by_name;
};

// A part of a run that the program has ended by a request.
struct RunPart {
    std::uint64_t number = 0;  // from 1 on
    std::string name;

    friend bool operator==(const RunPart&, const RunPart&) = default;
};

struct RunInfo {
    std::vector<std::string> command;
    std::int64_t pid = 0;
    std::string started;  // RFC 3339
    double seconds = 0;
    std::optional<int> exit_status;
    std::optional<int> exit_signal;
    std::uint64_t seed = 0;
    std::map<std::string, std::string> options;  // after defaults were filled in
    std::string cpu, kernel;
    std::uint32_t cores = 0;
    std::uint64_t merged_runs = 1;  // number of runs that were added up
    std::optional<RunPart> part;    // if the profile is not of the whole run
};

// One of the processes of a run.
struct ProcessInfo {
    std::int64_t pid = 0;
    std::optional<std::int64_t> parent;  // nothing: the first process, or unknown
    std::vector<std::string> command;    // the last one executed; cut if it is long
    double started_seconds = 0;          // since the run began
    double seconds = 0;                  // time that the process lived or was followed
    std::optional<int> exit_status;
    std::optional<int> exit_signal;  // neither this nor exit_status: it was detached and went on
    std::uint64_t samples = 0;
    std::uint64_t instructions = 0;

    friend bool operator==(const ProcessInfo&, const ProcessInfo&) = default;
};

// Processes that are not listed one by one.
struct OtherProcesses {
    std::uint64_t count = 0;
    std::uint64_t samples = 0;
    std::uint64_t instructions = 0;

    friend bool operator==(const OtherProcesses&, const OtherProcesses&) = default;
};

struct Profile {
    RunInfo run;
    std::vector<ProcessInfo> processes;  // hottest first; empty if unknown
    OtherProcesses other_processes;
    std::vector<Module> modules;
    SamplingStats sampling;
    Overhead overhead;
    SyscallStats syscalls;
    std::vector<Edge> edges;  // every list is sorted hottest first
    std::vector<Path> paths;
    std::vector<Stack> stacks;
    FunctionBatches function_batches;
    std::vector<LookedStack> looked_stacks;
    std::vector<ScriptFunction> script_functions;
    std::vector<CallPair> calls;
    std::vector<Method> methods;
    std::vector<ValueProfile> values;
    std::vector<Hazard> hazards;
    std::vector<AddressPattern> addresses;
    std::vector<DataStream> streams;
    std::vector<SystemCall> system_calls;
    std::vector<Wait> waits;
    std::vector<Allocation> allocations;
    std::vector<CallCost> call_costs;
    std::vector<PredictedBranch> branches;
    std::optional<BranchModel> branch_model;
    std::vector<CacheAccesses> cache;
    std::optional<CacheModel> cache_model;
    std::vector<LoadLatency> latency;  // sorted by lost cycles
    std::optional<LatencyHost> latency_host;
    std::vector<ProbeProfile> probes;
    std::vector<ThreadProfile> threads;
    std::vector<PlaceTime> times;      // empty without looks at threads
    std::optional<Timeline> timeline;  // of one run alone
    std::vector<std::string> notes;
};

}  // namespace shadowprof
