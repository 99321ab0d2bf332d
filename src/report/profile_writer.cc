#include "report/profile_writer.h"

#include <algorithm>

#include "profile/address_patterns.h"
#include "profile/hazards.h"
#include "report/json_writer.h"
#include "report/location_lists.h"
#include "report/location_numbers.h"
#include "report/methods.h"
#include "report/probe_text.h"
#include "report/value_text.h"

namespace shadowprof {
namespace {

class ProfileWriter {
  public:
    // `methods` stand for those of `profile`.
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
        write_edges();
        write_paths();
        write_stacks();
        write_calls();
        write_methods();
        write_values();
        write_hazards();
        write_addresses();
        write_threads();
        write_clock();
        write_latency();
        write_latency_host();
        write_streams();
        write_probes();
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

    // "name": [ element(item), ... ]
    template <typename List, typename Element>
    void list(std::string_view name, const List& items, Element element) {
        json_.key(name);
        json_.begin_array();
        for (const auto& item : items) element(item);
        json_.end_array();
    }
    void location(std::string_view name, CodeLocation l) { json_.member(name, numbers_.of(l)); }
    void locations(std::string_view name, const std::vector<CodeLocation>& items) {
        list(name, items, [&](CodeLocation l) { json_.value(numbers_.of(l)); });
    }
    template <typename Value>
    void map(std::string_view name, const std::map<std::string, Value>& items) {
        json_.key(name);
        json_.begin_object();
        for (const auto& [key, value] : items) json_.member(key, value);
        json_.end_object();
    }
    void text_or_null(std::string_view name, std::string_view text) {
        json_.key(name);
        if (text.empty())
            json_.null();
        else
            json_.value(text);
    }
    void error(const std::optional<double>& known) {
        if (known) json_.member("error", *known);
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
        list("command", run.command, [&](const std::string& word) { json_.value(word); });
        json_.member("pid", run.pid);
        json_.member("started", run.started);
        json_.member("seconds", run.seconds);
        exit(run.exit_status, run.exit_signal);
        json_.member("seed", hex_text(run.seed));
        map("options", run.options);
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
        list("processes", profile_.processes, [&](const ProcessInfo& process) {
            json_.begin_object();
            json_.member("pid", process.pid);
            json_.member("parent", process.parent);
            list("command", process.command, [&](const std::string& word) { json_.value(word); });
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
        list("modules", profile_.modules, [&](const Module& module) {
            json_.begin_object();
            json_.member("path", module.path);
            json_.member("build_id", module.build_id);
            json_.member("size", module.size_bytes);
            json_.end_object();
        });
    }

    void write_locations() {
        list("locations", numbers_.sorted(), [&](CodeLocation l) {
            const CodeSymbol& symbol = symbols_.symbol(l);
            std::optional<std::uint64_t> offset;
            if (symbol.function_start) offset = l.address - *symbol.function_start;
            json_.begin_object();
            json_.member("module", l.module);
            json_.member("address", hex_text(l.address));
            text_or_null("function", symbol.function);
            json_.member("offset", offset);
            text_or_null("file", symbol.file);
            line_or_null(symbol.line);
            list("inlined", symbol.inlined, [&](const InlinedFrame& frame) { inlined(frame); });
            text_or_null("text", symbols_.instruction_text(l));
            json_.end_object();
        });
    }

    void inlined(const InlinedFrame& frame) {
        json_.begin_object();
        text_or_null("function", frame.function);
        text_or_null("file", frame.file);
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
        map("ended", s.ended);
        json_.member("single_stepped", s.single_stepped);
        map("counters", s.counters);
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
        text_or_null("events", bursts.events);
        map("lengths", bursts.lengths);
        map("own_every", bursts.own_every);
        json_.member("events_counted", bursts.events_counted);
        json_.member("bursts", bursts.bursts);
        map("bursts_by_kind", bursts.bursts_by_kind);
        map("events_in_bursts", bursts.events_in_bursts);
        json_.end_object();
    }

    void write_changes(const SamplingStats& s) {
        list("changes", s.changes, [&](const SamplingChange& change) {
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
        map("boundaries", exact.boundaries);
        map("excluded", exact.excluded);
        text_or_null("stopped_early", exact.stopped_early);
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
        map("by_name", profile_.syscalls.by_name);
        json_.end_object();
    }

    void write_edges() {
        list("edges", profile_.edges, [&](const Edge& edge) {
            json_.begin_object();
            location("from", edge.from);
            location("to", edge.to);
            json_.member("kind", name(edge.kind));
            json_.member("count", edge.count);
            error(edge.error);
            json_.end_object();
        });
    }

    void write_paths() {
        list("paths", profile_.paths, [&](const Path& path) {
            json_.begin_object();
            json_.member("count", path.count);
            error(path.error);
            json_.member("instructions", path.instructions);
            locations("blocks", path.blocks);
            json_.end_object();
        });
    }

    void write_stacks() {
        list("stacks", profile_.stacks, [&](const Stack& stack) {
            json_.begin_object();
            locations("frames", stack.frames);
            json_.member("instructions", stack.instructions);
            error(stack.error);
            json_.member("samples", stack.samples);
            if (stack.time_ns != 0) json_.member("time_ns", stack.time_ns);
            if (stack.time_error_ns) json_.member("time_error_ns", *stack.time_error_ns);
            json_.end_object();
        });
    }

    void write_calls() {
        list("calls", profile_.calls, [&](const CallPair& call) {
            json_.begin_object();
            location("site", call.site);
            location("callee", call.callee);
            json_.member("count", call.count);
            error(call.error);
            json_.end_object();
        });
    }

    void write_methods() {
        list("methods", methods_, [&](const Method& method) {
            json_.begin_object();
            location("entry", method.entry);
            json_.member("entries", method.entries);
            json_.member("back_edges", method.back_edges);
            json_.member("instructions", method.instructions);
            error(method.error);
            if (method.time_ns) json_.member("time_ns", *method.time_ns);
            if (method.time_error_ns) json_.member("time_error_ns", *method.time_error_ns);
            json_.end_object();
        });
    }

    void top_values(std::string_view name, const std::vector<TopValue>& top, ValueType type) {
        list(name, top, [&](const TopValue& value) {
            json_.begin_object();
            json_.member("value", value_hex(value.value));
            json_.member("text", value_text(value.value, type));
            json_.member("count", value.count);
            json_.member("error", value.error);
            json_.end_object();
        });
    }

    void write_invariance(const std::optional<Invariance>& invariance) {
        if (!invariance) return;
        json_.member("invariance", invariance->share);
        json_.member("invariance_lower_bound", invariance->lower_bound);
    }

    // What is known of counts in `top`, and of values that it does not name.
    template <typename Values>
    void write_limits(const Values& values) {
        if (values.absent_error) json_.member("absent_error", *values.absent_error);
        if (values.compensation.value_or(0) != 0)
            json_.member("compensation", *values.compensation);
    }

    void write_values() {
        list("values", profile_.values, [&](const ValueProfile& value) {
            json_.begin_object();
            location("at", value.at);
            json_.member("operand", value.operand);
            json_.member("type", value_type(value.type, value.width_bytes));
            json_.member("count", value.count);
            write_invariance(value.invariance);
            top_values("top", value.top, value.type);
            top_values("top_tnv", value.top_tnv, value.type);
            write_limits(value);
            if (!value.by_caller.empty()) write_caller_values(value.by_caller, value.type);
            json_.end_object();
        });
    }

    void write_caller_values(const std::vector<CallerValues>& by_caller, ValueType type) {
        list("by_caller", by_caller, [&](const CallerValues& values) {
            json_.begin_object();
            locations("callers", values.callers);
            json_.member("count", values.count);
            write_invariance(values.invariance);
            top_values("top", values.top, type);
            write_limits(values);
            json_.end_object();
        });
    }

    void write_hazards() {
        list("hazards", profile_.hazards, [&](const Hazard& hazard) {
            json_.begin_object();
            json_.member("kind", hazard_kind_names[static_cast<std::size_t>(hazard.kind)]);
            if (is_pair(hazard.kind)) {
                location("store", hazard.first);
                location("load", hazard.second);
            } else {
                location("at", hazard.second);
            }
            json_.member("count", hazard.count);
            json_.member("executions", hazard.executions);
            json_.end_object();
        });
    }

    void write_addresses() {
        list("addresses", profile_.addresses, [&](const AddressPattern& address) {
            json_.begin_object();
            location("at", address.at);
            moves(address.moves);
            json_.end_object();
        });
    }

    template <typename Map>
    void pairs(std::string_view key, const Map& map) {
        list(key, map, [&](const auto& pair) {
            json_.begin_array();
            json_.value(pair.first);
            json_.value(pair.second);
            json_.end_array();
        });
    }

    // Members of the object that is open.
    void moves(const AddressMoves& moves) {
        const auto pattern = main_pattern(moves);
        json_.member("pattern", pattern.row->name);
        json_.member("stride", moves.stride());
        json_.member("count", moves.count());
        json_.member("share", pattern.share);
        json_.key("counts");
        json_.begin_object();
        for (const PatternRow& row : pattern_rows) json_.member(row.name, row.count(moves));
        json_.end_object();
        if (moves.strides.size() > 1) pairs("strides", moves.strides);
    }

    void write_latency() {
        list("latency", profile_.latency, [&](const LoadLatency& load) {
            json_.begin_object();
            location("at", load.at);
            json_.member("count", load.count());
            json_.member("timed", load.timed);
            json_.member("reused", load.reused);
            json_.member("median_cycles", load.median_cycles());
            json_.member("lost_cycles", load.lost_cycles);
            json_.member("line_crossings", load.line_crossings);
            json_.member("page_crossings", load.page_crossings);
            map("levels", load.levels);
            if (load.moves.count() != 0) {
                json_.key("addresses");
                json_.begin_object();
                moves(load.moves);
                json_.end_object();
            }
            pairs("histogram", load.histogram);
            json_.end_object();
        });
    }

    void write_latency_host() {
        if (!profile_.latency_host) return;
        const LatencyHost& host = *profile_.latency_host;
        json_.key("latency_host");
        json_.begin_object();
        list("levels", host.levels, [&](const LatencyLevel& level) {
            json_.begin_object();
            json_.member("name", level.name);
            json_.member("from_cycles", level.from_cycles);
            json_.member("median_cycles", level.median_cycles);
            json_.member("right_share", level.right_share);
            json_.end_object();
        });
        json_.member("step_cycles", host.step_cycles);
        json_.member("load_us", host.load_us);
        json_.member("hit_cycles", host.hit_cycles);
        json_.member("evicted_l1", host.evicted_l1);
        json_.member("evicted_l2", host.evicted_l2);
        json_.member("page_walk_cycles", host.page_walk_cycles);
        json_.end_object();
    }

    void write_probes() {
        list("probes", profile_.probes, [&](const ProbeProfile& probe) {
            json_.begin_object();
            json_.member("name", probe.name);
            json_.member("text", probe.text);
            json_.member("reducer", name(probe.reducer));
            json_.member("value", probe_datum_names[static_cast<std::size_t>(probe.value)]);
            json_.member("key", probe_datum_names[static_cast<std::size_t>(probe.key)]);
            json_.member("hits", probe.hits);
            json_.member("missed", probe.missed);
            json_.member("left_out", probe.left_out);
            list("entries", probe.entries,
                 [&](const ProbeEntry& entry) { probe_entry(probe, entry); });
            json_.end_object();
        });
    }

    void write_streams() {
        list("streams", profile_.streams, [&](const DataStream& stream) {
            json_.begin_object();
            json_.member("heat", stream.heat());
            json_.member("length", stream.references.size());
            json_.member("occurrences", stream.occurrences);
            list("references", stream.references, [&](const DataReference& reference) {
                json_.begin_array();
                json_.value(numbers_.of(reference.at));
                json_.value(hex_text(reference.address));
                json_.end_array();
            });
            json_.end_object();
        });
    }

    // "value": "0x7", "value_text": "7", or "value_at": location; nothing for none.
    void datum(const std::string& name, const ProbeDatum& datum, ProbeDatumKind kind) {
        if (const auto* at = std::get_if<CodeLocation>(&datum)) location(name + "_at", *at);
        const auto* number = std::get_if<std::uint64_t>(&datum);
        if (number == nullptr) return;
        json_.member(name, hex_text(*number));
        json_.member(name + "_text", probe_number(*number, kind == ProbeDatumKind::signed_number));
    }

    void probe_entry(const ProbeProfile& probe, const ProbeEntry& entry) {
        json_.begin_object();
        datum("key", entry.key, probe.key);
        json_.member("count", entry.count);
        if (probe.reducer == Reducer::sum || probe.reducer == Reducer::histogram) {
            json_.member("sum", sum_hex(entry.sum));
            json_.member("mean", mean_of(entry));
        }
        if (probe.reducer == Reducer::histogram) {
            json_.member("least", hex_text(entry.least));
            json_.member("most", hex_text(entry.most));
            pairs("histogram", entry.histogram);
        }
        if (probe.reducer == Reducer::hotlist) {
            list("top", entry.top, [&](const ProbeTop& top) {
                json_.begin_object();
                datum("value", top.value, probe.value);
                json_.member("count", top.count);
                json_.member("error", top.error);
                json_.end_object();
            });
            json_.member("absent_error", entry.absent_error);
        }
        json_.end_object();
    }

    void write_threads() {
        list("threads", profile_.threads, [&](const ThreadProfile& thread) {
            json_.begin_object();
            json_.member("pid", thread.pid);
            json_.member("tid", thread.tid);
            text_or_null("name", thread.name);
            json_.member("samples", thread.samples);
            json_.member("instructions", thread.instructions);
            if (!profile_.clock.empty()) json_.member("time_ns", thread.time_ns);
            json_.end_object();
        });
    }

    void write_clock() {
        list("clock", profile_.clock, [&](const ClockTicks& ticks) {
            json_.begin_object();
            location("at", ticks.at);
            json_.member("ticks", ticks.ticks);
            json_.member("time_ns", ticks.time_ns);
            json_.end_object();
        });
    }

    void write_notes() {
        std::vector<std::string> notes = profile_.notes;
        auto add = [&](std::string note) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end())
                notes.push_back(std::move(note));
        };
        for (std::string& note : symbols_.notes()) add(std::move(note));
        list("notes", notes, [&](const std::string& note) { json_.value(note); });
    }

    const Profile& profile_;
    const std::vector<Method>& methods_;
    SymbolSource& symbols_;
    JsonWriter json_;
    LocationNumbers numbers_;
};

// A copy of `items`, cut to its first `top`, which `notes` then say.
template <typename T>
std::vector<T> hottest(const std::vector<T>& items, std::size_t top, std::string_view name,
                       std::vector<std::string>& notes) {
    if (items.size() <= top) return items;
    notes.push_back(
        fmt::format("{}: only the {} hottest of {} are listed", name, top, items.size()));
    return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(top)};
}

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
    cut.edges = hottest(profile.edges, top, "edges", cut.notes);
    cut.paths = hottest(profile.paths, top, "paths", cut.notes);
    cut.stacks = hottest(profile.stacks, top, "stacks", cut.notes);
    cut.calls = hottest(profile.calls, top, "calls", cut.notes);
    cut.values = hottest(profile.values, top, "values", cut.notes);
    cut.hazards = hottest(profile.hazards, top, "hazards", cut.notes);
    cut.addresses = hottest(profile.addresses, top, "addresses", cut.notes);
    cut.streams = hottest(profile.streams, top, "streams", cut.notes);
    cut.latency = hottest(profile.latency, top, "latency", cut.notes);
    for (ProbeProfile probe : profile.probes) {
        probe.entries =
            hottest(probe.entries, top, fmt::format("probe '{}'", probe.name), cut.notes);
        cut.probes.push_back(std::move(probe));
    }
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
