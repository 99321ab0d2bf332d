#include "report/profile_file/profile_writer.h"

#include <algorithm>
#include <type_traits>

#include "profile/kinds/registry.h"
#include "report/lists/methods.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/location_numbers.h"
#include "report/profile_file/old_names.h"
#include "report/profile_file/record_writer.h"

namespace shadowprof {
namespace {

class ProfileWriter {
  public:
    // `methods` replace those of `profile`.
    ProfileWriter(const Profile& profile, const std::vector<Method>& methods, SymbolSource& symbols,
                  ByteSink& sink)
        : profile_(profile), methods_(methods), symbols_(symbols), json_(sink) {
        number_locations();
    }

    Result<void> write() {
        json_.begin_object();
        json_.member("schema", profile_schema);
        write_tool();
        write_run();
        write_processes();
        write_modules();
        write_locations();
        write_sampling();
        write_overhead();
        write_syscalls();
        for_each_kind([&]<typename Kind>() { write_list<Kind>(); });
        write_notes();
        json_.end_object();
        return json_.finish();
    }

  private:
    void number_locations() {
        for_each_location(profile_, [&](CodeLocation l) { numbers_.add(l); });
        for (const Method& method : methods_) numbers_.add(method.entry);
        numbers_.sort();
    }

    void line_or_null(std::uint32_t line) {
        json_.member("line", line != 0 ? std::optional(line) : std::nullopt);
    }

    void write_tool() {
        json_.key("tool");
        json_.begin_object();
        json_.member("name", "shadowprof");
        json_.member("version", SHADOWPROF_VERSION);
        json_.end_object();
    }

    void exit(const std::optional<int>& status, const std::optional<int>& signal) {
        json_.key("exit");
        json_.begin_object();
        if (status) json_.member("status", *status);
        if (signal) json_.member("signal", *signal);
        json_.end_object();
    }

    void write_run() {
        const RunInfo& run = profile_.run;
        json_.key("run");
        json_.begin_object();
        json_.array("command", run.command, [&](const std::string& word) { json_.value(word); });
        json_.member("pid", run.pid);
        json_.member("started", run.started);
        json_.member("seconds", run.seconds);
        exit(run.exit_status, run.exit_signal);
        json_.member("seed", hex_text(run.seed));
        json_.map("options", run.options);
        if (run.merged_runs != 1) json_.member("merged_runs", run.merged_runs);
        json_.key("host");
        json_.begin_object();
        json_.member("cpu", run.cpu);
        json_.member("cores", run.cores);
        json_.member("kernel", run.kernel);
        json_.end_object();
        json_.end_object();
    }

    void write_processes() {
        json_.array("processes", profile_.processes, [&](const ProcessInfo& process) {
            json_.begin_object();
            json_.member("pid", process.pid);
            json_.member("parent", process.parent);
            json_.array("command", process.command,
                        [&](const std::string& word) { json_.value(word); });
            json_.member("started_seconds", process.started_seconds);
            json_.member("seconds", process.seconds);
            exit(process.exit_status, process.exit_signal);
            json_.member("samples", process.samples);
            json_.member("instructions", process.instructions);
            json_.end_object();
        });
        const OtherProcesses& others = profile_.other_processes;
        json_.key("other_processes");
        json_.begin_object();
        json_.member("count", others.count);
        json_.member("samples", others.samples);
        json_.member("instructions", others.instructions);
        json_.end_object();
    }

    void write_modules() {
        json_.array("modules", profile_.modules, [&](const Module& module) {
            json_.begin_object();
            json_.member("path", module.path);
            json_.member("build_id", module.build_id);
            json_.member("size", module.size_bytes);
            json_.end_object();
        });
    }

    void write_locations() {
        json_.array("locations", numbers_.sorted(), [&](CodeLocation l) {
            const CodeSymbol& symbol = symbols_.symbol(l);
            std::optional<std::uint64_t> offset;
            if (symbol.function_start) offset = l.address - *symbol.function_start;
            json_.begin_object();
            json_.member("module", l.module);
            json_.member("address", hex_text(l.address));
            json_.text_or_null("function", symbol.function);
            json_.member("offset", offset);
            json_.text_or_null("file", symbol.file);
            line_or_null(symbol.line);
            json_.array("inlined", symbol.inlined,
                        [&](const InlinedFrame& frame) { inlined(frame); });
            json_.text_or_null("text", symbols_.instruction_text(l));
            json_.end_object();
        });
    }

    void inlined(const InlinedFrame& frame) {
        json_.begin_object();
        json_.text_or_null("function", frame.function);
        json_.text_or_null("file", frame.file);
        line_or_null(frame.line);
        json_.end_object();
    }

    void write_sampling() {
        const SamplingStats& s = profile_.sampling;
        json_.key("sampling");
        json_.begin_object();
        json_.member("mode", s.mode);
        json_.member("samples", s.samples);
        json_.member("instructions", s.instructions);
        json_.member("emulation_seconds", s.emulation_seconds);
        json_.member("target_instructions", s.target_instructions);
        json_.map("ended", s.ended);
        json_.member("single_stepped", s.single_stepped);
        json_.map("counters", with_old_names(s.counters));
        if (s.exact) write_exact(*s.exact);
        if (s.convergence) write_convergence(*s.convergence);
        if (s.bursts) write_bursts(*s.bursts);
        if (!s.changes.empty()) write_changes(s);
        json_.end_object();
    }

    void write_convergence(const Convergence& convergence) {
        json_.key("convergence");
        json_.begin_object();
        json_.member("limit_percent", convergence.limit_percent);
        json_.member("reached", convergence.reached);
        json_.member("error_percent", convergence.error_percent);
        json_.member("seconds", convergence.seconds);
        json_.member("samples", convergence.samples);
        json_.member("taken_up_again", convergence.taken_up_again);
        json_.end_object();
    }

    void write_bursts(const BurstStats& bursts) {
        json_.key("bursts");
        json_.begin_object();
        json_.member("every", bursts.every);
        json_.text_or_null("events", bursts.events);
        json_.map("lengths", bursts.lengths);
        json_.map("own_every", bursts.own_every);
        json_.member("events_counted", bursts.events_counted);
        json_.member("bursts", bursts.bursts);
        json_.map("bursts_by_kind", bursts.bursts_by_kind);
        json_.map("events_in_bursts", bursts.events_in_bursts);
        json_.end_object();
    }

    void write_changes(const SamplingStats& s) {
        json_.array("changes", s.changes, [&](const SamplingChange& change) {
            json_.begin_object();
            json_.member("seconds", change.seconds);
            json_.member("samples", change.samples);
            json_.member("what", change.what);
            json_.end_object();
        });
        json_.member("changes_left_out", s.changes_left_out);
    }

    void write_exact(const ExactStats& exact) {
        json_.key("exact");
        json_.begin_object();
        json_.member("intervals", exact.intervals);
        json_.member("diverged", exact.diverged);
        json_.member("diverged_share", exact.diverged_share());
        json_.member("pages_compared", exact.pages_compared);
        json_.member("native_instructions", exact.native_instructions);
        json_.member("signals", exact.signals);
        json_.map("boundaries", exact.boundaries);
        json_.map("excluded", exact.excluded);
        json_.text_or_null("stopped_early", exact.stopped_early);
        json_.end_object();
    }

    void duration(std::string_view name, const DurationStats& d) {
        json_.key(name);
        json_.begin_object();
        json_.member("p50", d.p50_us);
        json_.member("p99", d.p99_us);
        json_.member("max", d.max_us);
        json_.end_object();
    }

    void write_overhead() {
        const Overhead& o = profile_.overhead;
        json_.key("overhead");
        json_.begin_object();
        json_.member("stops", o.stops);
        json_.member("stopped_seconds", o.stopped_seconds);
        duration("pause_us", o.pause);
        json_.member("forks", o.forks);
        duration("fork_us", o.fork);
        json_.member("induced_faults", o.induced_faults);
        json_.member("waited_seconds", o.waited_seconds);
        json_.member("profiler_cpu_seconds", o.profiler_cpu_seconds);
        json_.member("budget_percent", o.budget_percent);
        json_.member("estimated_slowdown_percent", o.estimated_slowdown_percent);
        json_.end_object();
    }

    void write_syscalls() {
        json_.key("syscalls");
        json_.begin_object();
        for (const char* name : {"benign", "output", "input", "misc", "unsafe"}) {
            auto it = profile_.syscalls.by_class.find(name);
            json_.member(name, it != profile_.syscalls.by_class.end() ? it->second : 0);
        }
        json_.map("by_name", profile_.syscalls.by_name);
        json_.end_object();
    }

    template <typename Kind>
    void write_list() {
        RecordWriter writer(json_, numbers_, !profile_.clock.empty());
        const auto write = [&](const auto& record) {
            json_.begin_object();
            fields(writer, record);
            json_.end_object();
        };
        if constexpr (std::is_same_v<Kind, MethodList>)
            json_.array(Kind::name, methods_, write);
        else
            json_.array(Kind::name, Kind::of(profile_), write);
        if constexpr (requires { Kind::host_of(profile_); })
            if (const auto& host = Kind::host_of(profile_)) {
                json_.key(Kind::host_name);
                write(*host);
            }
    }

    void write_notes() {
        std::vector<std::string> notes = profile_.notes;
        auto add = [&](std::string note) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end())
                notes.push_back(std::move(note));
        };
        for (std::string& note : symbols_.notes()) add(std::move(note));
        json_.array("notes", notes, [&](const std::string& note) { json_.value(note); });
    }

    const Profile& profile_;
    const std::vector<Method>& methods_;
    SymbolSource& symbols_;
    JsonWriter json_;
    LocationNumbers numbers_;
};

// Returns the first `top` items and adds a note if some were cut.
template <typename T>
std::vector<T> hottest(const std::vector<T>& items, std::size_t top, std::string_view name,
                       std::vector<std::string>& notes) {
    if (items.size() <= top) return items;
    notes.push_back(
        fmt::format("{}: only the {} hottest of {} are listed", name, top, items.size()));
    return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(top)};
}

// Keeps all probes, and the hottest entries of each.
std::vector<ProbeProfile> hottest(std::vector<ProbeProfile> probes, std::size_t top,
                                  std::string_view, std::vector<std::string>& notes) {
    for (ProbeProfile& probe : probes)
        probe.entries = hottest(probe.entries, top, fmt::format("probe '{}'", probe.name), notes);
    return probes;
}

// Cuts all lists except methods, which may be derived from the whole lists.
Profile with_short_lists(const Profile& profile, std::size_t top) {
    Profile cut{.run = profile.run,
                .processes = profile.processes,
                .other_processes = profile.other_processes,
                .modules = profile.modules,
                .sampling = profile.sampling,
                .overhead = profile.overhead,
                .syscalls = profile.syscalls,
                .latency_host = profile.latency_host,
                .notes = profile.notes};
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::is_kept_whole; })
            Kind::of(cut) = Kind::of(profile);
        else if constexpr (!std::is_same_v<Kind, MethodList>)
            Kind::of(cut) = hottest(Kind::of(profile), top, Kind::name, cut.notes);
    });
    return cut;
}

}  // namespace

Result<void> write_profile(const Profile& profile, SymbolSource& symbols, ByteSink& sink,
                           const WriteOptions& options) {
    std::vector<Method> derived;
    if (profile.methods.empty()) derived = derive_methods(profile, symbols);
    const std::vector<Method>& methods = profile.methods.empty() ? derived : profile.methods;
    if (options.top == WriteOptions{}.top)
        return ProfileWriter(profile, methods, symbols, sink).write();
    Profile cut = with_short_lists(profile, options.top);
    cut.methods = hottest(methods, options.top, "methods", cut.notes);
    return ProfileWriter(cut, cut.methods, symbols, sink).write();
}

}  // namespace shadowprof
