// The run in time: its threads, its samples, and the call stacks of each sample.
//
// It is bounded: of a long run every second sample is kept, then every fourth, and so on. What it
// has of a stretch of time is therefore a sample of that stretch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/fields.h"

namespace shadowprof {

// A thread of the run. Times are since the run began.
struct TimelineThread {
    std::int64_t pid = 0, tid = 0;
    std::string name;  // as the program set it; empty if unknown
    // When it began, or was first followed; nothing: unknown.
    std::optional<std::uint64_t> start_us;
    // When it ended or was let go, or when the profile of a run that goes on was made; nothing:
    // unknown.
    std::optional<std::uint64_t> end_us;

    friend bool operator==(const TimelineThread&, const TimelineThread&) = default;
};

struct TimelineSample {
    std::uint64_t start_us = 0;      // since the run began
    std::uint32_t thread = 0;        // that it began with; an index into Timeline::threads
    std::uint32_t kind = 0;          // an index into Timeline::kinds
    std::uint32_t end = 0;           // an index into Timeline::ends
    std::uint32_t phase = 0;         // samples of the same phase executed alike (PhaseDetector)
    std::uint64_t instructions = 0;  // executed and counted
    std::uint64_t counted = 0;       // what these are in the profile's stacks, by their weight
    std::uint64_t time_ns = 0;       // the processor time that it stands for
    std::uint32_t stacks = 0;        // how many of Timeline::stacks are its
    // Tells samples of one run apart. Not part of the file.
    std::uint64_t number = 0;

    friend bool operator==(const TimelineSample&, const TimelineSample&) = default;
};

// What a sample executed in one call stack.
struct TimelineStack {
    std::uint32_t node = 0;          // the innermost frame
    std::uint64_t instructions = 0;  // a part of TimelineSample::instructions

    friend bool operator==(const TimelineStack&, const TimelineStack&) = default;
};

struct Timeline {
    std::uint64_t stride = 1;        // one of so many samples is listed
    std::vector<std::string> kinds;  // how samples are taken
    std::vector<std::string> ends;   // the words of SamplingStats::ended
    std::vector<TimelineThread> threads;
    std::uint64_t threads_left_out = 0;   // that are not listed
    std::vector<TimelineSample> samples;  // by start
    // The largest of each sample, in the order of the samples.
    std::vector<TimelineStack> stacks;
    // Frames of call stacks as a tree: node n is frame n - 1, called by node parents[n - 1], which
    // is smaller than n. Node 0 is the root. A stack's last frame is a function, the others are
    // call sites, as in Stack::frames.
    std::vector<std::uint32_t> parents;
    std::vector<CodeLocation> frames;

    bool has_anything() const { return !threads.empty() || !samples.empty(); }
    friend bool operator==(const Timeline&, const Timeline&) = default;
};

inline constexpr std::size_t max_timeline_samples = 20'000;
inline constexpr std::size_t max_timeline_threads = 4096;
// Deeper call stacks lack calls in front of their function.
inline constexpr std::size_t max_timeline_depth = 1024;

// What is wrong with a timeline that was read from a file; nothing if it can be used: all indices
// are within their lists.
std::optional<std::string_view> fault_of(const Timeline& timeline);

// The stride with which a list of so many samples is bounded.
constexpr std::uint64_t timeline_stride(std::uint64_t samples, std::uint64_t most) {
    std::uint64_t stride = 1;
    while (samples > stride * most) stride *= 2;
    return stride;
}

// Keeps every `times`-th sample, counted from the first.
void thin_out(Timeline& timeline, std::uint64_t times);
// Thins the timeline out, and leaves out the smallest stacks, until it takes about so many bytes in
// a file. The rest of a sample's instructions is then in none of its stacks.
void keep_timeline_size(Timeline& timeline, std::uint64_t max_bytes);
// Leaves what came behind `earlier`, a timeline of the same run, which ended after `earlier_us`.
// Times stay those since the run began.
void subtract(Timeline& timeline, const Timeline& earlier, std::uint64_t earlier_us);
// Drops frames that no stack needs.
void drop_unused_frames(Timeline& timeline);
// The frames of a node, outermost first.
std::vector<CodeLocation> frames_of(const Timeline& timeline, std::uint32_t node);

// A member of a record, as a list of its own in the file.
template <typename Record, typename Number>
struct Column {
    std::string_view name;
    Number Record::*member;
};
template <typename Record, typename Number>
Column(std::string_view, Number Record::*) -> Column<Record, Number>;

inline constexpr auto timeline_sample_columns = std::tuple(
    Column{"start_us", &TimelineSample::start_us}, Column{"thread", &TimelineSample::thread},
    Column{"kind", &TimelineSample::kind}, Column{"end", &TimelineSample::end},
    Column{"phase", &TimelineSample::phase}, Column{"instructions", &TimelineSample::instructions},
    Column{"counted", &TimelineSample::counted}, Column{"time_ns", &TimelineSample::time_ns},
    Column{"stacks", &TimelineSample::stacks});
inline constexpr auto timeline_stack_columns = std::tuple(
    Column{"node", &TimelineStack::node}, Column{"instructions", &TimelineStack::instructions});

void fields(auto& visitor, Like<TimelineThread> auto& thread) {
    visitor.integer("pid", thread.pid);
    visitor.integer("tid", thread.tid);
    visitor.text_or_null("name", thread.name);
    visitor.known_count("start_us", thread.start_us);
    visitor.known_count("end_us", thread.end_us);
}

void fields(auto& visitor, Like<Timeline> auto& timeline) {
    visitor.count("stride", timeline.stride);
    visitor.words("kinds", timeline.kinds);
    visitor.words("ends", timeline.ends);
    visitor.list("threads", timeline.threads,
                 [](auto& inner, auto& thread) { fields(inner, thread); });
    visitor.count("threads_left_out", timeline.threads_left_out);
    visitor.columns("samples", timeline.samples, timeline_sample_columns);
    visitor.columns("stacks", timeline.stacks, timeline_stack_columns);
    visitor.small_counts("parents", timeline.parents);
    visitor.locations("frames", timeline.frames);
}

}  // namespace shadowprof
