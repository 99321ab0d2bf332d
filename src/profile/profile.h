// A profile as a value: what collectors fill, what can be merged, what reports are made of. Nothing
// in it depends on the addresses at which a run happened to load its modules.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_map.h"

namespace shadowprof {

// A file with code, or the pseudo-module "[anon]" for code without a file, or "[vdso]".
struct Module {
    std::string path;
    std::string build_id;          // lower-case hexadecimal, empty if it has none
    std::uint64_t size_bytes = 0;  // of the file, 0 for pseudo-modules
};

// An instruction or block start: the ELF virtual address in its module, as objdump prints it; the
// plain guest address in a pseudo-module.
struct CodeLocation {
    std::uint32_t module = 0;  // index into Profile::modules
    std::uint64_t address = 0;

    friend constexpr auto operator<=>(const CodeLocation&, const CodeLocation&) = default;
};

enum class EdgeKind : std::uint8_t { taken, fall_through, jump, indirect, call, ret };

struct Edge {
    CodeLocation from;  // the branch instruction
    CodeLocation to;    // the first instruction executed after it
    EdgeKind kind = EdgeKind::jump;
    std::uint64_t count = 0;

    friend bool operator==(const Edge&, const Edge&) = default;
};

struct Path {
    std::vector<CodeLocation> blocks;  // starts of blocks, in the order of execution
    std::uint64_t instructions = 0;    // of one execution of the path
    std::uint64_t count = 0;

    friend bool operator==(const Path&, const Path&) = default;
};

struct Stack {
    std::vector<CodeLocation> frames;  // outermost first; call sites, then the innermost function
    std::uint64_t instructions = 0;
    std::uint64_t samples = 0;  // samples that began here

    friend bool operator==(const Stack&, const Stack&) = default;
};

struct CallPair {
    CodeLocation site;
    CodeLocation callee;
    std::uint64_t count = 0;

    friend bool operator==(const CallPair&, const CallPair&) = default;
};

// A function's entries and loops. Known only where function bounds are: derived from the other
// lists when a report is made (report/methods.h).
struct Method {
    CodeLocation entry;
    std::uint64_t entries = 0;                  // calls of it
    std::uint64_t back_edges = 0;               // taken backward branches within it
    std::optional<std::uint64_t> instructions;  // executed in it, if stacks were collected
};

struct TopValue {
    std::vector<std::byte> value;  // little-endian, as wide as the operand
    std::uint64_t count = 0;       // estimated executions that produced it
    double error = 0;              // half width of the 95% confidence interval of `count`
};

// The results of one instruction's destination operand.
struct ValueProfile {
    CodeLocation at;
    std::string operand;  // register name as the instruction writes it: "eax", "xmm3"
    std::uint32_t width_bytes = 8;
    std::uint64_t count = 0;        // executions whose value was recorded
    double invariance = 0;          // share of the most frequent value
    std::vector<TopValue> top;      // by counting samples, most frequent first
    std::vector<TopValue> top_tnv;  // by a TNV table, for comparison; error 0
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
    std::optional<ExactStats> exact;  // in exact mode
};

struct Overhead {
    std::uint64_t stops = 0;
    double stopped_seconds = 0;
    DurationStats pause;
    std::uint64_t forks = 0;
    DurationStats fork;
    std::uint64_t induced_faults = 0;
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
};

struct Profile {
    RunInfo run;
    std::vector<Module> modules;
    SamplingStats sampling;
    Overhead overhead;
    SyscallStats syscalls;
    std::vector<Edge> edges;  // every list is sorted hottest first
    std::vector<Path> paths;
    std::vector<Stack> stacks;
    std::vector<CallPair> calls;
    std::vector<Method> methods;
    std::vector<ValueProfile> values;
    std::vector<std::string> notes;
};

}  // namespace shadowprof
