// Writes what ran, what was sampled, and the costs.
#include <algorithm>

#include "base/text/text_format.h"
#include "report/html/page_data.h"
#include "report/text/advice.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

void write_counts(JsonWriter& json, std::string_view name,
                  const std::map<std::string, std::uint64_t>& counts) {
    json.key(name);
    json.begin_object();
    for (const auto& [key, count] : counts) json.member(printable(key), count);
    json.end_object();
}

void write_words(JsonWriter& json, std::string_view name, const std::vector<std::string>& words) {
    json.key(name);
    json.begin_array();
    for (const std::string& word : words) json.value(printable(word));
    json.end_array();
}

void write_run(const RunInfo& run, JsonWriter& json) {
    json.key("run");
    json.begin_object();
    write_words(json, "command", run.command);
    json.member("pid", run.pid);
    json.member("started", printable(run.started));
    json.member("seconds", run.seconds);
    json.member("ended", how_it_ended(run.exit_status, run.exit_signal));
    json.member("seed", hex_text(run.seed));
    json.member("cpu", printable(run.cpu));
    json.member("kernel", printable(run.kernel));
    json.member("cores", run.cores);
    json.member("merged_runs", run.merged_runs);
    json.key("options");
    json.begin_object();
    for (const auto& [name, value] : run.options) json.member(printable(name), printable(value));
    json.end_object();
    json.end_object();
}

void write_exact(const ExactStats& exact, JsonWriter& json) {
    json.key("exact");
    json.begin_object();
    json.member("intervals", exact.intervals);
    json.member("diverged", exact.diverged);
    json.member("stopped_early", printable(exact.stopped_early));
    json.end_object();
}

void write_convergence(const Convergence& convergence, JsonWriter& json) {
    json.key("convergence");
    json.begin_object();
    json.member("limit_percent", convergence.limit_percent);
    json.member("reached", convergence.reached);
    json.member("error_percent", convergence.error_percent);
    json.member("seconds", convergence.seconds);
    json.member("samples", convergence.samples);
    json.member("taken_up_again", convergence.taken_up_again);
    json.end_object();
}

void write_bursts(const BurstStats& bursts, JsonWriter& json) {
    json.key("bursts");
    json.begin_object();
    json.member("every", bursts.every);
    json.member("events", printable(bursts.events));
    json.member("events_counted", bursts.events_counted);
    json.member("count", bursts.bursts);
    write_counts(json, "lengths", bursts.lengths);
    json.end_object();
}

void write_sampling(const SamplingStats& sampling, JsonWriter& json) {
    json.key("sampling");
    json.begin_object();
    json.member("mode", printable(sampling.mode));
    json.member("samples", sampling.samples);
    json.member("instructions", sampling.instructions);
    json.member("target_instructions", sampling.target_instructions);
    json.member("emulation_seconds", sampling.emulation_seconds);
    json.member("single_stepped", sampling.single_stepped);
    json.member("changes", sampling.changes.size() + sampling.changes_left_out);
    write_counts(json, "ended", sampling.ended);
    write_counts(json, "counters", sampling.counters);
    if (sampling.exact) write_exact(*sampling.exact, json);
    if (sampling.convergence) write_convergence(*sampling.convergence, json);
    if (sampling.bursts) write_bursts(*sampling.bursts, json);
    json.end_object();
}

void write_cost(const Overhead& cost, JsonWriter& json) {
    json.key("cost");
    json.begin_object();
    json.member("stops", cost.stops);
    json.member("stopped_seconds", cost.stopped_seconds);
    json.member("pause_p50_us", cost.pause.p50_us);
    json.member("pause_p99_us", cost.pause.p99_us);
    json.member("pause_max_us", cost.pause.max_us);
    json.member("forks", cost.forks);
    json.member("induced_faults", cost.induced_faults);
    json.member("waited_seconds", cost.waited_seconds);
    json.member("profiler_cpu_seconds", cost.profiler_cpu_seconds);
    json.member("budget_percent", cost.budget_percent);
    json.member("slowdown_percent", cost.estimated_slowdown_percent);
    json.end_object();
}

void write_processes(const Profile& profile, JsonWriter& json) {
    json.key("processes");
    begin_table(json, {"pid", "parent", "command", "started", "seconds", "ended", "samples",
                       "instructions"});
    for (const ProcessInfo& process : profile.processes) {
        json.begin_array();
        json.value(process.pid);
        json.value(process.parent);
        json.value(command_text(process.command));
        json.value(process.started_seconds);
        json.value(process.seconds);
        json.value(how_it_ended(process.exit_status, process.exit_signal));
        json.value(process.samples);
        json.value(process.instructions);
        json.end_array();
    }
    end_table(json);
    json.key("other_processes");
    json.begin_object();
    json.member("count", profile.other_processes.count);
    json.member("samples", profile.other_processes.samples);
    json.member("instructions", profile.other_processes.instructions);
    json.end_object();
}

void write_threads(const std::vector<ThreadProfile>& threads, JsonWriter& json) {
    json.key("threads");
    begin_table(json, {"pid", "tid", "name", "samples", "instructions", "time_ns"});
    for (const ThreadProfile& thread : threads) {
        json.begin_array();
        json.value(thread.pid);
        json.value(thread.tid);
        json.value(printable(thread.name));
        json.value(thread.samples);
        json.value(thread.instructions);
        json.value(thread.time_ns);
        json.end_array();
    }
    end_table(json);
}

}  // namespace

void write_overview(const PageData& page, JsonWriter& json) {
    const Profile& profile = page.profile;
    std::vector<std::string> notes = profile.notes;
    for (std::string& note : page.annotator.symbols().notes())
        if (std::find(notes.begin(), notes.end(), note) == notes.end())
            notes.push_back(std::move(note));
    json.begin_object();
    json.member("version", SHADOWPROF_VERSION);
    write_run(profile.run, json);
    write_sampling(profile.sampling, json);
    write_cost(profile.overhead, json);
    write_processes(profile, json);
    write_threads(profile.threads, json);
    write_words(json, "advice",
                advice(profile, page.annotator.symbols(), page.annotator.functions()));
    write_words(json, "notes", notes);
    json.end_object();
}

void write_syscalls(const PageData& page, JsonWriter& json) {
    json.begin_object();
    write_counts(json, "by_class", page.profile.syscalls.by_class);
    write_counts(json, "by_name", page.profile.syscalls.by_name);
    json.end_object();
}

}  // namespace shadowprof
