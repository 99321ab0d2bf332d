// A profile as a value: what collectors fill, what can be merged, what reports are made of. Nothing
// in it depends on the addresses at which a run happened to load its modules.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_map.h"
#include "base/value_type.h"
#include "profile/code_location.h"
#include "profile/cycle_histogram.h"
#include "profile/probe_profile.h"

namespace shadowprof {

// A file with code, or the pseudo-module "[anon]" for code without a file, or "[vdso]".
struct Module {
    std::string path;
    std::string build_id;          // lower-case hexadecimal, empty if it has none
    std::uint64_t size_bytes = 0;  // of the file, 0 for pseudo-modules
};

enum class EdgeKind : std::uint8_t { taken, fall_through, jump, indirect, call, ret };
inline constexpr std::array<std::string_view, 6> edge_kind_names = {
    "taken", "fall-through", "jump", "indirect", "call", "return"};
inline std::string_view name(EdgeKind kind) {
    return edge_kind_names.at(static_cast<std::size_t>(kind));
}

struct Edge {
    CodeLocation from;  // the branch instruction
    CodeLocation to;    // the first instruction executed after it
    EdgeKind kind = EdgeKind::jump;
    std::uint64_t count = 0;
    // Here and below: half the width of the 95% confidence interval of `count`, of a stack's and a
    // method's `instructions` (profile/batch_means.h). Nothing where it is not known, and where
    // counts are exact.
    std::optional<double> error = {};

    friend bool operator==(const Edge&, const Edge&) = default;
};

struct Path {
    std::vector<CodeLocation> blocks;  // starts of blocks, in the order of execution
    std::uint64_t instructions = 0;    // of one execution of the path
    std::uint64_t count = 0;
    std::optional<double> error = {};

    friend bool operator==(const Path&, const Path&) = default;
};

struct Stack {
    std::vector<CodeLocation> frames;  // outermost first; call sites, then the innermost function
    std::uint64_t instructions = 0;
    std::uint64_t samples = 0;  // threads of samples that began here, weighted like counts
    std::optional<double> error = {};
    // Of the program's processor time: each sample's, divided evenly among its instructions. 0 in
    // exact mode, which does not measure time.
    std::uint64_t time_ns = 0;
    std::optional<double> time_error_ns = {};

    friend bool operator==(const Stack&, const Stack&) = default;
};

struct CallPair {
    CodeLocation site;
    CodeLocation callee;
    std::uint64_t count = 0;
    std::optional<double> error = {};

    friend bool operator==(const CallPair&, const CallPair&) = default;
};

// A function's entries and loops. Known only where function bounds are: derived from the other
// lists when a report is made (report/methods.h).
struct Method {
    CodeLocation entry;
    std::uint64_t entries = 0;                  // calls of it
    std::uint64_t back_edges = 0;               // taken backward branches within it
    std::optional<std::uint64_t> instructions;  // executed in it, if stacks were collected
    std::optional<double> error = {};
    std::optional<std::uint64_t> time_ns = {};  // see Stack
    std::optional<double> time_error_ns = {};
};

// Instructions and time by where they were executed (the last of Stack::frames) and by batch of
// samples: from these follow the errors of what stacks add up to. Not part of the file.
struct FunctionBatches {
    struct Amount {
        double instructions = 0;
        double time_ns = 0;
    };
    struct Part {
        CodeLocation at;
        std::uint32_t batch = 0;
        Amount amount;
    };
    struct Numbers {
        std::uint64_t ticks = 0, samples = 0;
    };
    std::vector<Amount> sizes;  // by batch
    std::vector<Part> parts;
    // Of the strata that the kernel's clock knows (batch_means.h), the batch behind each.
    std::vector<std::uint32_t> stratum_ends = {};
    Numbers numbers = {};
};

struct TopValue {
    std::vector<std::byte> value;  // little-endian, as wide as the operand
    std::uint64_t count = 0;       // estimated executions that produced it
    double error = 0;              // half width of the 95% confidence interval of `count`
};

// The share of executions that produced the most frequent value (profile/invariance.h).
struct Invariance {
    double share = 0;        // as estimated
    double lower_bound = 0;  // of that share, with a probability of 95%

    friend bool operator==(const Invariance&, const Invariance&) = default;
};
inline double share_of(const std::optional<Invariance>& invariance) {
    return invariance ? invariance->share : 0;
}

// The values of executions that one stack of callers led to. Fields are as in ValueProfile.
struct CallerValues {
    std::vector<CodeLocation> callers;  // call sites, innermost first
    std::uint64_t count = 0;
    std::optional<Invariance> invariance = {};
    std::vector<TopValue> top;
    std::optional<double> absent_error = {};
    std::optional<double> compensation = {};
};

// The results of one instruction's destination operand.
struct ValueProfile {
    CodeLocation at;
    std::string operand;  // register name as the instruction writes it: "eax", "xmm3"
    std::uint32_t width_bytes = 8;
    ValueType type = {};      // canonical for the width, where shadowprof made it
    std::uint64_t count = 0;  // executions whose value was recorded
    // Nothing: which value is the most frequent one is not known.
    std::optional<Invariance> invariance = {};
    std::vector<TopValue> top;      // by counting samples, most frequent first
    std::vector<TopValue> top_tnv;  // by a TNV table, for comparison; error 0
    // 95% bound on the count of a value that `top` does not name. Nothing: it follows from the
    // errors of `top`, as in all profiles but merged ones.
    std::optional<double> absent_error = {};
    // Of each count in `top`, what was supposed and not counted, at most. Nothing: no more than the
    // largest error.
    std::optional<double> compensation = {};
    // By calling context, where the calls in progress are known; hottest first.
    std::vector<CallerValues> by_caller = {};
};

// See profile/hazards.h.
enum class HazardKind : std::uint8_t { blocked, aliased, line_split, page_split };
inline constexpr std::size_t hazard_kinds = 4;
// A load behind a store, or else one access.
constexpr bool is_pair(HazardKind kind) {
    return kind == HazardKind::blocked || kind == HazardKind::aliased;
}

struct Hazard {
    HazardKind kind = HazardKind::blocked;
    CodeLocation first;            // the store of a pair; of a split, the same as `second`
    CodeLocation second;           // the load of a pair, or the access that splits
    std::uint64_t count = 0;       // executions of `second` with this hazard
    std::uint64_t executions = 0;  // of `second` where references were traced

    friend bool operator==(const Hazard&, const Hazard&) = default;
};

// How the addresses of a load follow each other (profile/address_patterns.h): executions, by how
// their address came from the one before.
struct AddressMoves {
    std::uint64_t constant = 0;   // the same
    std::uint64_t chased = 0;     // elsewhere: it was loaded
    std::uint64_t irregular = 0;  // elsewhere
    // So many bytes further, by the distance: a run's most frequent one. Of merged runs those of
    // all.
    std::map<std::int64_t, std::uint64_t> strides;

    std::uint64_t strided() const;
    // The most frequent one; 0 if there is none.
    std::int64_t stride() const;
    std::uint64_t count() const { return constant + strided() + chased + irregular; }
    friend bool operator==(const AddressMoves&, const AddressMoves&) = default;
};

// Where references were traced.
struct AddressPattern {
    CodeLocation at;
    AddressMoves moves;

    friend bool operator==(const AddressPattern&, const AddressPattern&) = default;
};

// One access to memory.
struct DataReference {
    CodeLocation at;
    std::uint64_t address = 0;

    friend constexpr auto operator<=>(const DataReference&, const DataReference&) = default;
};

// A sequence of references that repeats (profile/data_streams.h).
struct DataStream {
    std::vector<DataReference> references;
    std::uint64_t occurrences = 0;

    // References that it makes up.
    std::uint64_t heat() const { return references.size() * occurrences; }
    friend bool operator==(const DataStream&, const DataStream&) = default;
};

// One level of the machine's memory, as far as its loads can be told from those of other levels.
struct LatencyLevel {
    std::string name;               // "L1", "L2", "L3", "memory"; "L1/L2" where these are one
    std::uint64_t from_cycles = 0;  // loads that take so long, up to the next level's
    double median_cycles = 0;       // when it was calibrated
    double right_share = 0;         // of loads known to be of this level that are taken for it

    friend bool operator==(const LatencyLevel&, const LatencyLevel&) = default;
};

// What the machine's load latencies are, by calibration. Cycles are those of the time-stamp
// counter, and include the fences around the load.
struct LatencyHost {
    std::vector<LatencyLevel> levels;  // the fastest first; empty: it could not be calibrated
    std::uint64_t step_cycles = 0;     // that the counter goes by
    double load_us = 0;                // what timing one load takes
    double hit_cycles = 0;             // of a load whose line is in L1: the one just loaded
    // Share of lines known to be in the level that are no longer there when they are timed in a
    // stop; nothing where that cannot be told.
    std::optional<double> evicted_l1, evicted_l2;
    // By how much a load of L2 takes longer if no TLB has its page; nothing where that cannot be
    // told.
    std::optional<double> page_walk_cycles;

    friend bool operator==(const LatencyHost&, const LatencyHost&) = default;
};

// The loads of one instruction, in latency bursts.
struct LoadLatency {
    CodeLocation at;
    std::uint64_t timed = 0;
    // From cache lines that were accessed before in the same burst: hits of the first level, which
    // are not timed.
    std::uint64_t reused = 0;
    std::uint64_t line_crossings = 0, page_crossings = 0;  // of both; a page's is a line's as well
    CycleHistogram histogram;                              // of timed loads
    std::map<std::string, std::uint64_t> levels;           // of both, by LatencyLevel::name
    // Beyond LatencyHost::hit_cycles, of timed loads beyond the first level: of those within it, a
    // stop may have evicted the line.
    std::uint64_t lost_cycles = 0;
    AddressMoves moves;  // within bursts

    std::uint64_t count() const { return timed + reused; }
    // Of those that were timed; 0 if none was.
    double median_cycles() const { return median(histogram); }
    friend bool operator==(const LoadLatency&, const LoadLatency&) = default;
};

// A thread's part in the samples.
struct ThreadProfile {
    std::int64_t pid = 0;
    std::int64_t tid = 0;  // 0: all that began within samples
    std::string name;      // as the program set it; may be empty
    std::uint64_t samples = 0;
    std::uint64_t instructions = 0;
    std::uint64_t time_ns = 0;  // in its own code, see ClockTicks; 0 where there was no clock

    friend bool operator==(const ThreadProfile&, const ThreadProfile&) = default;
};

// Where threads were when the kernel's clock of their processor time ticked (ptrace/task_clock.h).
// The kernel's own time is not in it.
struct ClockTicks {
    CodeLocation at;  // the instruction that would have been next
    std::uint64_t ticks = 0;
    std::uint64_t time_ns = 0;  // that they stand for

    friend bool operator==(const ClockTicks&, const ClockTicks&) = default;
};

// Distribution of a duration, in microseconds.
struct DurationStats {
    double p50_us = 0, p99_us = 0, max_us = 0;
};

// Of a run in which every instruction was followed, from one system call to the next.
struct ExactStats {
    std::uint64_t intervals = 0;  // followed
    std::uint64_t diverged = 0;   // of these: emulation and hardware did not agree at the end
    std::uint64_t pages_compared = 0;
    std::uint64_t native_instructions = 0;  // executed by the hardware alone
    std::uint64_t signals = 0;              // from outside, delivered at the end of an interval
    std::map<std::string, std::uint64_t> boundaries;  // what ended the intervals
    std::map<std::string, std::uint64_t> excluded;    // intervals not compared, by reason
    std::string stopped_early;                        // why the rest of the run is not covered

    double diverged_share() const {
        return intervals ? static_cast<double>(diverged) / static_cast<double>(intervals) : 0;
    }
};

// Of samples that were taken until the errors of hot edges were small (`--until-converged`).
struct Convergence {
    double limit_percent = 0;              // of an edge's count
    bool reached = false;                  // and not lost again
    std::optional<double> error_percent;   // then, or in the end; nothing: too few samples to tell
    std::optional<double> seconds;         // from the run's begin until then
    std::optional<std::uint64_t> samples;  // until then
    // How often it was reached, and lost again by a new phase or larger errors.
    std::uint64_t taken_up_again = 0;

    friend bool operator==(const Convergence&, const Convergence&) = default;
};

// Of a run that counts in bursts (profile/event_bursts.h).
struct BurstStats {
    // As the run began; nothing if what was merged does not agree in them.
    std::uint64_t every = 0;                       // events between bursts, on average
    std::string events;                            // which they are: "calls+backedges"
    std::map<std::string, std::uint64_t> lengths;  // in events, by kind of profile
    // `every` of kinds that have bursts of their own.
    std::map<std::string, std::uint64_t> own_every = {};

    std::uint64_t events_counted = 0;
    std::uint64_t bursts = 0;  // one of several kinds counts once
    std::map<std::string, std::uint64_t> bursts_by_kind = {};
    std::map<std::string, std::uint64_t> events_in_bursts;  // by kind

    friend bool operator==(const BurstStats&, const BurstStats&) = default;
};

// What a user changed while samples were taken.
struct SamplingChange {
    double seconds = 0;         // since the run began
    std::uint64_t samples = 0;  // that had begun by then
    std::string what;           // the command, or the signal

    friend bool operator==(const SamplingChange&, const SamplingChange&) = default;
};
inline constexpr std::size_t most_sampling_changes = 100;

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
    std::optional<Convergence> convergence;  // where it was asked for
    std::optional<BurstStats> bursts;
    std::vector<SamplingChange> changes;  // the first ones
    std::uint64_t changes_left_out = 0;
};

struct Overhead {
    std::uint64_t stops = 0;
    double stopped_seconds = 0;
    DurationStats pause;
    std::uint64_t forks = 0;
    DurationStats fork;
    std::uint64_t induced_faults = 0;
    double waited_seconds = 0;  // for processors that shadowprof had
    double profiler_cpu_seconds = 0;
    double budget_percent = 0;
    double estimated_slowdown_percent = 0;
};

struct SyscallStats {
    std::map<std::string, std::uint64_t> by_class;  // benign, output, input, misc, unsafe
    std::map<std::string, std::uint64_t> by_name;
};

struct RunInfo {
    std::vector<std::string> command;
    std::int64_t pid = 0;
    std::string started;  // RFC 3339
    double seconds = 0;
    std::optional<int> exit_status;
    std::optional<int> exit_signal;
    std::uint64_t seed = 0;
    std::map<std::string, std::string> options;  // as resolved
    std::string cpu, kernel;
    std::uint32_t cores = 0;
    std::uint64_t merged_runs = 1;  // that the profile is the sum of
};

// One of the processes that a run consisted of.
struct ProcessInfo {
    std::int64_t pid = 0;
    std::optional<std::int64_t> parent;  // the process that it was born of; none: the first, or
                                         // not known
    std::vector<std::string> command;    // that it executed last; a long one is cut
    double started_seconds = 0;          // since the run began
    double seconds = 0;                  // that it lived, or was followed
    std::optional<int> exit_status;
    std::optional<int> exit_signal;  // neither: it was let go, and went on
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
    std::vector<ProcessInfo> processes;  // hottest first; empty where nothing is known of them
    OtherProcesses other_processes;
    std::vector<Module> modules;
    SamplingStats sampling;
    Overhead overhead;
    SyscallStats syscalls;
    std::vector<Edge> edges;  // every list is sorted hottest first
    std::vector<Path> paths;
    std::vector<Stack> stacks;
    FunctionBatches function_batches;
    std::vector<CallPair> calls;
    std::vector<Method> methods;
    std::vector<ValueProfile> values;
    std::vector<Hazard> hazards;
    std::vector<AddressPattern> addresses;
    std::vector<DataStream> streams;
    std::vector<LoadLatency> latency;  // by lost cycles
    std::optional<LatencyHost> latency_host;
    std::vector<ProbeProfile> probes;
    std::vector<ThreadProfile> threads;
    std::vector<ClockTicks> clock;  // empty where there was none
    std::vector<std::string> notes;
};

}  // namespace shadowprof
