#include "shadow/exact/exact_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text/numbered.h"
#include "profile/merge/join.h"
#include "profile/merge/merge.h"

namespace shadowprof {
namespace {

constexpr std::size_t noted_divergences = 3;
// A profile says of at most so many children why they are not covered to their ends.
constexpr std::size_t noted_reasons = 8;
constexpr std::size_t max_listed_threads = 4096;

}  // namespace

void ExactResults::note_program(std::uint64_t number, pid_t pid,
                                const std::vector<std::string>& command) {
    log_.set_command(number, command);
    if (number != 0) unprivileged_.note_exec(pid);
}

void ExactResults::add(std::uint64_t number, pid_t pid, const ExactProcess::Outcome& outcome) {
    const auto& counts = outcome.counts;
    counts_.instructions += counts.instructions;
    counts_.parts += counts.parts;
    counts_.cpu_ns += counts.cpu_ns;
    counts_.is_damaged |= counts.is_damaged;
    counts_.regions.add(counts.regions);
    for (const auto& [name, counter] : worker_counters)
        counters_.*counter += outcome.counters.*counter;
    for (std::uint64_t part = 0; part < counts.parts; ++part) {
        log_.begin_sample(number);
        log_.finish_sample(number, part == 0 ? counts.instructions : 0);
    }
    add_threads(pid, outcome);
    lives_.add(pid, outcome.thread_lives, Clock::now(), outcome.thread_names);
    lives_.add_left_out(outcome.thread_lives_left_out);
    for (const auto& divergence : outcome.divergences)
        if (divergences_.size() < noted_divergences)
            divergences_.push_back(fmt::format("interval {} diverged: {}", divergence.interval,
                                               fmt::join(divergence.differences, "; ")));
    auto stats = outcome.stats;
    auto reason = std::exchange(stats.stopped_early, {});
    add_exact(stats_, stats);
    using enum ExactProcess::Fate;
    outcome.fate == ended ? ++ended_ : ++let_go_;
    if (outcome.fate == ended) return;
    if (number == 0)
        stats_.stopped_early = std::move(reason);
    else if (outcome.fate == given_up)
        ++outlived_;
    else
        reasons_.push_back(named(number, pid, reason));
}

void ExactResults::add_unfollowed(std::uint64_t number, pid_t pid, std::string reason) {
    ++let_go_;
    reasons_.push_back(named(number, pid, reason));
}

std::string ExactResults::named(std::uint64_t number, pid_t pid, const std::string& reason) const {
    const auto command = log_.command(number);
    return fmt::format("process {} ({}): {}", pid, command.empty() ? "?" : command.front(), reason);
}

// A thread alone is its process.
void ExactResults::add_threads(pid_t pid, const ExactProcess::Outcome& outcome) {
    const auto& by_thread = outcome.counts.by_thread;
    if (by_thread.size() < 2) return;
    for (const auto& [tid, instructions] : by_thread) {
        if (threads_.size() >= max_listed_threads) return;
        const auto name = outcome.thread_names.find(tid);
        threads_.push_back(
            {pid, tid, name == outcome.thread_names.end() ? "" : name->second, instructions});
    }
}

void ExactResults::fill(Profile& profile, Clock::time_point end) const {
    fill_sampling(profile.sampling);
    fill_threads(profile);
    profile.overhead.stops = stats_.intervals;
    log_.fill(profile, end);
    lives_.fill(profile.timeline.emplace());
    fill_notes(profile.notes);
}

void ExactResults::fill_sampling(SamplingStats& sampling) const {
    sampling.mode = "exact";
    sampling.samples = counts_.parts;
    sampling.instructions = counts_.instructions;
    for (const auto& [name, counter] : worker_counters)
        sampling.counters[std::string(name)] = counters_.*counter;
    sampling.counters["collector_cpu_ns"] = counts_.cpu_ns;
    sampling.emulation_seconds = static_cast<double>(counters_.cpu_ns + counts_.cpu_ns) / 1e9;
    if (ended_ != 0) sampling.ended["exit"] = ended_;
    if (let_go_ != 0) sampling.ended["stopped"] = let_go_;
    const auto processes = ended_ + let_go_;
    if (counts_.parts > processes) sampling.ended["interrupted"] = counts_.parts - processes;
    sampling.single_stepped = stats_.native_instructions;
    sampling.exact = stats_;
    auto& stopped_early = sampling.exact->stopped_early;
    if (stopped_early.empty() && !reasons_.empty()) stopped_early = reasons_.front();
    if (stopped_early.empty()) sampling.target_instructions = sampling.instructions;
}

void ExactResults::fill_threads(Profile& profile) const {
    for (const auto& thread : threads_)
        profile.threads.push_back({.pid = thread.pid,
                                   .tid = thread.tid,
                                   .name = thread.name,
                                   .samples = 1,
                                   .instructions = thread.instructions});
    join_and_sort(profile.threads);
}

void ExactResults::fill_region_notes(std::vector<std::string>& notes) const {
    const auto& regions = counts_.regions;
    if (!regions.started)
        notes.emplace_back(
            "nothing was counted: the program did not ask to start (--count-at-start=no)");
    if (regions.stops_without_start != 0)
        notes.push_back(fmt::format("{} to stop counting came while nothing was counted",
                                    numbered(regions.stops_without_start, "request")));
    if (counts_functions_ && regions.entered == 0)
        notes.emplace_back(
            "nothing was counted: no function that --count-in names was called, or its file has no "
            "symbols");
    if (regions.lost != 0)
        notes.push_back(fmt::format(
            "the rest of {} of counted functions was not counted, as the emulator was restarted",
            numbered(regions.lost, "call")));
    if (regions.unknown_calls != 0)
        notes.push_back(
            fmt::format("{} to call a function outside of the emulation (VALGRIND_NON_SIMD_CALL) "
                        "{} not followed",
                        numbered(regions.unknown_calls, "request"),
                        word_for(regions.unknown_calls, "was", "were")));
}

void ExactResults::fill_notes(std::vector<std::string>& notes) const {
    if (!stats_.stopped_early.empty())
        notes.push_back(
            fmt::format("the rest of the run is not covered: {}", stats_.stopped_early));
    for (std::size_t i = 0; i < std::min(noted_reasons, reasons_.size()); ++i)
        notes.push_back(fmt::format("not covered to its end: {}", reasons_[i]));
    if (reasons_.size() > noted_reasons)
        notes.push_back(fmt::format("processes that are not covered to their ends either: {}",
                                    reasons_.size() - noted_reasons));
    if (outlived_ != 0) notes.push_back(note_of_outliving(outlived_));
    if (stats_.diverged != 0)
        notes.push_back(
            fmt::format("{} of {} compared intervals diverged: what is counted is not certain",
                        stats_.diverged, stats_.compared));
    notes.insert(notes.end(), divergences_.begin(), divergences_.end());
    for (const auto& [reason, times] : stats_.excluded)
        notes.push_back(fmt::format("{} {} not covered: {}", numbered(times, "interval"),
                                    word_for(times, "is", "are"), reason));
    fill_region_notes(notes);
    unprivileged_.fill(notes);
    if (counts_.is_damaged) notes.emplace_back("the trace was damaged");
}

}  // namespace shadowprof
