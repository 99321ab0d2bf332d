#include "shadow/results/sample_results.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text/numbered.h"

namespace shadowprof {
namespace {

void add_counters(std::map<std::string, std::uint64_t>& counters, const WorkerCounters& more) {
    for (const auto& [name, counter] : worker_counters)
        counters[std::string(name)] += more.*counter;
}

// How samples that missed the end of their window are counted and reported.
struct MissRow {
    MissReason reason;
    const char* counter;
    const char* text;
};

constexpr MissRow miss_rows[] = {
    {MissReason::asked_time, "windows_missed_asked_time", "they asked for the time"},
    {MissReason::asked_kernel, "windows_missed_asked_kernel", "they made system calls"},
    {MissReason::other_threads, "windows_missed_other_threads",
     "other threads may have done something else meanwhile"},
    {MissReason::memory, "windows_missed_memory",
     "the registers agreed, but memory did not (something else writes to it, or the emulation is "
     "wrong)"},
    {MissReason::registers, "windows_missed_registers",
     "the registers never agreed (the program ran faster than before, something else writes to its "
     "memory, or the emulation is wrong)"},
};

const MissRow& row_of(MissReason reason) {
    return *std::ranges::find(miss_rows, reason, &MissRow::reason);
}

}  // namespace

SampleResults::SampleResults(const ProcessProfile& profile,
                             std::optional<double> until_converged_percent) {
    if (until_converged_percent) convergence_.emplace(profile, *until_converged_percent);
}

void SampleResults::begin(Clock::time_point now) {
    timeline_.begin(now);
    if (convergence_) convergence_->begin(now);
}

void SampleResults::add(const SampleReport& report) {
    scale_.instructions += report.instructions;
    scale_.weighted += report.instructions * report.weight;
    ++stats_.samples;
    stats_.instructions += report.instructions;
    phases_.on_sample(report.blocks);
    timeline_.add(report, phases_.of_last_sample());
    if (convergence_) convergence_->observe(stats_.samples, phases_.state(), Clock::now());
    stats_.single_stepped += report.single_stepped;
    stats_.emulation_seconds +=
        static_cast<double>(report.counters.cpu_ns + report.collector_cpu_ns) / 1e9;
    stats_.counters["stopped_threads"] += report.stopped_threads;
    stats_.counters["collector_cpu_ns"] += report.collector_cpu_ns;
    ++stats_.ended[std::string(name(report.end))];
    add_window(report);
    add_counters(stats_.counters, report.counters);
    damaged_ += report.trace_damaged;
    threads_.add(report.pid, report.threads, report.weight);
    if (report.syscalls) {
        add_counts(report.syscalls->counts, syscalls_);
        const bool ended_it = !is_whole(report.end) && !report.syscalls->end_reason.empty();
        if (ended_it) ++end_reasons_[report.syscalls->end_reason];
    }
    if (!report.error.empty()) ++end_reasons_["an error: " + report.error];
}

void SampleResults::add_window(const SampleReport& report) {
    switch (report.window) {
        case WindowEnd::none:
            return;
        case WindowEnd::met:
            ++stats_.counters["windows_met"];
            if (report.kind == SampleKind::live) {
                ++stats_.counters["live_windows_met"];
                return;
            }
            if (!report.of_window->seconds) {
                ++stats_.counters["windows_met_in_faults"];
                return;
            }
            stats_.counters["window_ns"] +=
                static_cast<std::uint64_t>(*report.of_window->seconds * 1e9);
            stats_.counters["window_instructions"] += report.window_instructions;
            return;
        case WindowEnd::before:
            ++stats_.counters["windows_not_reached"];
            return;
        case WindowEnd::missed:
            ++stats_.counters["windows_missed"];
            ++stats_.counters[row_of(report.missed_by).counter];
            return;
    }
}

void SampleResults::add_void(const SampleReport& report) {
    ++stats_.counters["samples_void"];
    stats_.emulation_seconds +=
        static_cast<double>(report.counters.cpu_ns + report.collector_cpu_ns) / 1e9;
    add_window(report);
}

void SampleResults::add_idle() {
    ++stats_.samples;
    ++stats_.ended[std::string(name(SampleEnd::idle))];
}

void SampleResults::add_refusal(const Error& error) {
    if (error.code != ErrorCode::gone) add_refusal(error.message);
}

void SampleResults::add_replica_lifetime(std::chrono::nanoseconds lifetime) {
    stats_.counters["replica_lifetime_ns"] += to_ns(lifetime);
}

void SampleResults::fill(Profile& profile) const {
    const auto own = profile.sampling.counters;
    profile.sampling = stats_;
    profile.sampling.counters.insert(own.begin(), own.end());
    profile.sampling.counters["phase_changes"] = phases_.changes();
    if (convergence_) profile.sampling.convergence = convergence_->result();
    profile.syscalls = syscalls_;
    profile.threads = threads_.profiles(scale());
    timeline_.fill(profile);
}

void SampleResults::fix_scale(bool none_is_to_come) {
    if (!fixed_scale_ && (scale_.weighted != 0 || none_is_to_come)) fixed_scale_ = scale_;
}

void SampleResults::scale_processes(Profile& profile) const {
    for (auto& process : profile.processes) process.instructions = scale()(process.instructions);
    profile.other_processes.instructions = scale()(profile.other_processes.instructions);
}

void SampleResults::fill_notes(Profile& profile, std::uint64_t taken) const {
    if (stats_.samples != 0 && taken == 0)
        profile.notes.emplace_back(
            "no samples could be taken: whenever one was due, the process did not run");
    if (const auto found = stats_.ended.find(std::string(name(SampleEnd::no_room)));
        found != stats_.ended.end())
        profile.notes.push_back(
            fmt::format("{} could not be emulated: the program's mappings leave no room for them "
                        "in the emulator's memory, nor would they in exact mode",
                        numbered(found->second, "sample")));
    for (const auto& [reason, times] : end_reasons_)
        profile.notes.push_back(fmt::format("{} ended by {}", numbered(times, "sample"), reason));
    for (const MissRow& row : miss_rows)
        if (const auto missed = stats_.counters.find(row.counter); missed != stats_.counters.end())
            profile.notes.push_back(
                fmt::format("{} did not come to the state that the program came to: {}",
                            numbered(missed->second, "sample"), row.text));
    for (const auto& [reason, times] : refusals_)
        profile.notes.push_back(fmt::format("{} {} not taken: {}", numbered(times, "sample"),
                                            word_for(times, "was", "were"), reason));
    if (damaged_)
        profile.notes.push_back(
            fmt::format("{} had a damaged trace", numbered(damaged_, "sample")));
}

}  // namespace shadowprof
