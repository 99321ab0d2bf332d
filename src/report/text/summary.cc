#include "report/text/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/lists/hot_lists.h"
#include "report/symbols/location_name.h"
#include "report/text/advice.h"
#include "report/text/facts_text.h"
#include "report/text/list_printer.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

// Numbers of lines. With headings and blank lines they add up to at most 50.
constexpr std::size_t shown_functions = 7, shown_scripts = 7, shown_paths = 4, shown_branches = 4,
                      shown_values = 5, shown_threads = 4, shown_notes = 4, shown_names = 5,
                      shown_loads = 3, shown_calls = 3;
// Kinds on request make the summary longer.
constexpr std::size_t shown_hazards = 5, shown_addresses = 5, shown_streams = 5,
                      shown_probe_lines = 5;
// If there are several processes, their lines replace the last lines of these.
constexpr std::size_t shown_processes = 4, fewer_functions = 5, fewer_branches = 3,
                      fewer_values = 2;
// A value that depends on its callers replaces some that are invariant.
constexpr std::size_t shown_callers = 2;
// Loads do so too. With both there are also fewer paths.
constexpr std::size_t fewer_loads = 2, fewer_paths = 2;

template <typename T>
std::vector<T> first(std::vector<T> list, std::size_t most) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(std::min(most, list.size())), list.end());
    return list;
}

std::vector<std::pair<std::string, std::uint64_t>> largest_first(
    const std::map<std::string, std::uint64_t>& amounts) {
    std::vector<std::pair<std::string, std::uint64_t>> list(amounts.begin(), amounts.end());
    std::erase_if(list, [](const auto& entry) { return entry.second == 0; });
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return list;
}

// "write 12, read 4, ...", most frequent first.
std::string most_frequent(const std::map<std::string, std::uint64_t>& counts) {
    const auto list = largest_first(counts);
    std::string text;
    for (std::size_t i = 0; i < std::min(list.size(), shown_names); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", list[i].first,
                            short_count(static_cast<double>(list[i].second)));
    if (list.size() > shown_names) text += ", ...";
    return text;
}

class Summary {
  public:
    Summary(const Profile& profile, SymbolSource& symbols, const SummaryRequest& request,
            const TextOptions& options, std::FILE* out)
        : profile_(profile),
          symbols_(symbols),
          request_(request),
          functions_(hot_functions(profile, symbols, request.weight)),
          page_(options, out),
          lists_(profile, symbols, page_) {}

    void print() {
        head();
        times();
        waits();
        counts();
        if (profile_.threads.size() > 1) threads();
        cost();
        processes();
        functions();
        scripts();
        paths();
        branches();
        values();
        references();
        loads();
        probes();
        syscalls();
        notes();
    }

  private:
    void line(std::string_view left, std::string_view right = {}) { page_.line(left, right); }
    void title(std::string_view text) { page_.title(text); }

    void head() {
        const RunInfo& run = profile_.run;
        if (const auto sentences = advice(profile_, symbols_, functions_); !sentences.empty())
            page_.sentence(sentences.front());
        const std::string command = command_text(run.command);
        const std::string ended = how_it_ended(run.exit_status, run.exit_signal);
        page_.head(command.empty() ? "(no command)" : command);
        if (run.merged_runs != 1)
            line(fmt::format("{} together, {} in all, the first {}",
                             counted(run.merged_runs, "run"), short_duration(run.seconds),
                             printable(run.started)));
        else
            line(fmt::format("pid {}, {}, {}, {}", run.pid, short_duration(run.seconds),
                             ended.empty() ? "still running" : ended, printable(run.started)));
    }

    void times() {
        const auto looks = counter("looks");
        if (looks == 0) return;
        double time_ns = 0;
        for (const PlaceTime& each : profile_.times) time_ns += static_cast<double>(each.time_ns);
        const auto in_kernel_ns = static_cast<double>(counter("looks_in_kernel_ns"));
        const double in_kernel = ratio(in_kernel_ns, time_ns);
        const auto unsampled = functions_.unsampled_time_share;
        line(fmt::format("time     {}: {} in the program, {} in the kernel ({}){}",
                         counted(looks, "look"), short_duration((time_ns - in_kernel_ns) * 1e-9),
                         short_duration(in_kernel_ns * 1e-9), percent(in_kernel),
                         unsampled == 0 ? "" : fmt::format("; unsampled {}", percent(unsampled))));
    }

    void waits() {
        if (profile_.waits.empty()) return;
        std::map<std::string, std::uint64_t> by_call;
        double all_ns = 0;
        for (const Wait& each : profile_.waits) {
            by_call[each.call] += each.time_ns;
            all_ns += static_cast<double>(each.time_ns);
        }
        std::string calls;
        std::size_t shown = 0;
        for (const auto& [call, time_ns] : largest_first(by_call)) {
            if (shown++ == shown_calls) break;
            calls += fmt::format("{} {} {}", calls.empty() ? ":" : ",", printable(call),
                                 percent(ratio(static_cast<double>(time_ns), all_ns)));
        }
        const auto ready_ns = static_cast<double>(counter("waits_ready_ns"));
        line(fmt::format("waits    {} asleep{}; {} for a processor", short_duration(all_ns * 1e-9),
                         calls, short_duration(ready_ns * 1e-9)));
    }

    void counts() {
        const SamplingStats& s = profile_.sampling;
        std::string text = fmt::format("counts   {}, {}", counted(s.samples, "sample"),
                                       counted(s.instructions, "instruction"));
        if (s.target_instructions)
            text += fmt::format(" ({} of {})",
                                percent(ratio(static_cast<double>(s.instructions),
                                              static_cast<double>(*s.target_instructions))),
                                short_count(static_cast<double>(*s.target_instructions)));
        // These ended in the very state that the program came to.
        if (const auto verified = verified_samples(s))
            text += fmt::format("; {} proven right", *verified);
        line(text);
        if (request_.is_verbose) {
            const std::string ended = most_frequent(s.ended);
            line(fmt::format("         mode {}{}{}", s.mode.empty() ? "unknown" : printable(s.mode),
                             ended.empty() ? "" : "; ended by ", printable(ended)));
        }
        if (s.exact)
            line(fmt::format("         {}, {} compared with the hardware, {} diverged{}",
                             counted(s.exact->intervals, "interval"), s.exact->compared,
                             s.exact->diverged,
                             s.exact->stopped_early.empty()
                                 ? ""
                                 : "; not to the end: " + printable(s.exact->stopped_early)));
        if (s.convergence) convergence(*s.convergence);
        if (s.bursts) bursts(*s.bursts);
        if (s.single_stepped > 0)
            line(fmt::format("         {} single-stepped",
                             counted(s.single_stepped, "instruction")));
    }

    void convergence(const Convergence& c) {
        const auto error = c.error_percent.value_or(0) / 100;
        if (c.reached)
            line(fmt::format("         converged {}after {}, {}: hot edges are certain to {}",
                             c.taken_up_again != 0 ? "again " : "",
                             counted(c.samples.value_or(0), "sample"),
                             short_duration(c.seconds.value_or(0)), percent(error)));
        else if (c.error_percent)
            line(fmt::format("         not converged{}: hot edges are certain to {}, not {}",
                             c.taken_up_again != 0 ? " again" : "", percent(error),
                             percent(c.limit_percent / 100)));
        else
            line("         not converged: there are too few samples to tell errors");
    }

    void bursts(const BurstStats& b) {
        std::string lengths;
        for (const auto& [kind, length] : b.lengths)
            lengths += fmt::format("{}{} {}", lengths.empty() ? "" : ", ", printable(kind), length);
        const std::string when = b.every == 0
                                     ? "of several settings"
                                     : fmt::format("every {} {}", b.every, printable(b.events));
        line(fmt::format("         {} {}{}{}; {}", counted(b.bursts, "burst"), when,
                         lengths.empty() ? "" : ", for ", lengths,
                         counted(b.events_counted, "event")));
        if (const auto changes = profile_.sampling.changes.size(); changes != 0)
            line(fmt::format("         {} while it ran", counted(changes, "change")));
    }

    void threads() { line("threads  " + thread_shares_text(profile_.threads, shown_threads)); }

    void cost() {
        const Overhead& o = profile_.overhead;
        if (profile_.sampling.exact) return cost_of_all();
        const std::string allowed =
            o.budget_percent > 0 ? fmt::format(" of {} allowed", percent(o.budget_percent / 100))
                                 : "";
        line(fmt::format("cost     slowdown about {}{}; pauses p99 {}, longest {}",
                         percent(o.estimated_slowdown_percent / 100), allowed,
                         short_duration(o.pause.p99_us * 1e-6),
                         short_duration(o.pause.max_us * 1e-6)));
        if (!request_.is_verbose) return;
        line(fmt::format("         {}, {} in all; {}; {} induced", counted(o.stops, "stop"),
                         short_duration(o.stopped_seconds), counted(o.forks, "fork"),
                         counted(o.induced_faults, "fault")));
        line(fmt::format("         pause p50 {}", short_duration(o.pause.p50_us * 1e-6)));
        stops_for_live_samples();
        recorded_input();
    }

    // In exact mode no pauses are measured, so a slowdown cannot be estimated.
    void cost_of_all() {
        line(fmt::format("cost     {}; {} of processor time for shadowprof",
                         counted(profile_.overhead.stops, "stop"),
                         short_duration(profile_.overhead.profiler_cpu_seconds)));
        line("         slowdown not measured: every instruction was emulated");
    }

    bool has_several_processes() const {
        return profile_.processes.size() > 1 || profile_.other_processes.count > 0;
    }

    bool has_losses() const {
        return !profile_.latency.empty() && profile_.latency.front().lost_cycles > 0;
    }
    bool is_crowded() const { return has_several_processes() || has_losses(); }

    void processes() {
        if (has_several_processes()) lists_.processes(shown_processes);
    }

    std::uint64_t counter(const char* name) const {
        const auto& counters = profile_.sampling.counters;
        const auto found = counters.find(name);
        return found == counters.end() ? 0 : found->second;
    }

    void stops_for_live_samples() {
        if (counter("live_emulation_ns") == 0) return;
        const double translating = ratio(static_cast<double>(counter("live_translation_ns")),
                                         static_cast<double>(counter("live_emulation_ns")));
        line(fmt::format("         {}, {} cut by time, {} of their time translation",
                         counted(counter("live_samples"), "live sample"),
                         counter("live_samples_cut_by_time"), percent(translating)));
        const auto excess_us = counter("live_excess_max_us");
        if (excess_us != 0)
            line(fmt::format("         over the limit by {} at most",
                             short_duration(static_cast<double>(excess_us) * 1e-6)));
    }

    void recorded_input() {
        if (counter("input_stops") == 0) return;
        line(fmt::format("         recording input: {} at system calls, {} in all; {}, {}",
                         counted(counter("input_stops"), "stop"),
                         short_duration(static_cast<double>(counter("input_stops_ns")) * 1e-9),
                         counted(counter("input_calls"), "call"),
                         counted(counter("input_bytes"), "byte")));
    }

    void functions() {
        lists_.functions(first(functions_.list, is_crowded() ? fewer_functions : shown_functions),
                         functions_.unit);
    }

    void scripts() {
        const auto list = hot_scripts(profile_, StackWeight::instructions);
        lists_.scripts(first(list, shown_scripts), StackWeight::instructions);
    }

    void paths() {
        lists_.paths(hot_paths(
            profile_, has_several_processes() && has_losses() ? fewer_paths : shown_paths));
    }

    void branches() {
        lists_.branches(hot_branches(profile_, is_crowded() ? fewer_branches : shown_branches));
    }

    void values() {
        const auto by_caller = caller_dependent_values(profile_, 1);
        const bool fewer = is_crowded() || !by_caller.empty();
        lists_.values(invariant_values(profile_, symbols_, fewer ? fewer_values : shown_values),
                      "Most invariant values, constants left out");
        lists_.caller_dependent(by_caller, shown_callers,
                                "The value that most depends on its caller");
    }

    void references() {
        lists_.hazards(first(all_of(profile_.hazards), shown_hazards));
        lists_.addresses(
            first(unforeseeable_first(profile_.addresses), shown_addresses),
            "Loads by how their addresses follow each other, unforeseeable ones first");
        lists_.streams(first(all_of(profile_.streams), shown_streams));
    }

    void loads() {
        auto hot =
            first(all_of(profile_.latency), has_several_processes() ? fewer_loads : shown_loads);
        std::erase_if(hot, [](const LoadLatency* load) { return load->lost_cycles == 0; });
        lists_.loads(hot);
    }

    void probes() {
        for (const ProbeProfile& probe : profile_.probes) lists_.probe(probe, shown_probe_lines);
    }

    void syscalls() {
        std::string classes = most_frequent(profile_.syscalls.by_class);
        if (classes.empty()) return;
        title("System calls in samples");
        std::string names = most_frequent(profile_.syscalls.by_name);
        line(fmt::format("  {}{}{}", classes, names.empty() ? "" : ": ", printable(names)));
    }

    void notes() {
        std::vector<std::string> notes = profile_.notes;
        for (std::string& note : symbols_.notes())
            if (std::find(notes.begin(), notes.end(), note) == notes.end())
                notes.push_back(std::move(note));
        if (notes.empty()) return;
        title("Notes");
        // The line about convergence replaces one note.
        const std::size_t most = shown_notes - (profile_.sampling.convergence ? 1 : 0);
        bool too_many = notes.size() > most;
        std::size_t shown = too_many ? most - 1 : notes.size();
        for (std::size_t i = 0; i < shown; ++i) line("  " + printable(notes[i]));
        if (too_many) line(fmt::format("  and {} more in the profile", notes.size() - shown));
    }

    const Profile& profile_;
    SymbolSource& symbols_;
    const SummaryRequest request_;
    HotFunctions functions_;
    TextPage page_;
    ListPrinter lists_;
};

}  // namespace

void print_summary(const Profile& profile, SymbolSource& symbols, const SummaryRequest& request,
                   const TextOptions& options, std::FILE* out) {
    Summary(profile, symbols, request, options, out).print();
}

}  // namespace shadowprof
