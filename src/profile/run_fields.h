// The one description of what a profile says of its run, besides the lists of its kinds: see
// profile/kinds/fields.h, which names the functions of visitors. These come on top:
//
//   flag(name, b)               a bool
//   words(name, list)           a list of strings
//   small_count(name, n)        a count of 32 bits, cut if the file has a larger one
//   known_int(name, maybe)      left out where it is not known
//   nullable_integer(name, maybe) null where it is not known
//   count_if(here, name, n)     written only if `here`, 0 where it is absent
//   count_unless(usual, name, n) left out where it is the usual number
//   added_map(name, counts)     empty if the file is of an earlier version, without this member
//   text_map(name, texts)       strings by name
//   optional(name, maybe, each) an object, left out where there is none
//   small_counts(name, list)  counts of 32 bits
//   columns(name, records, columns)
//                             an object with a list of counts for each column: see Column
#pragma once

#include "profile/kinds/fields.h"
#include "profile/profile.h"

namespace shadowprof {

void fields(auto& visitor, Like<DurationStats> auto& duration) {
    visitor.number("p50", duration.p50_us);
    visitor.number("p99", duration.p99_us);
    visitor.number("max", duration.max_us);
}

void fields(auto& visitor, Like<ExactStats> auto& exact) {
    visitor.count("intervals", exact.intervals);
    visitor.count_or("compared", exact.compared, "intervals");
    visitor.count("diverged", exact.diverged);
    visitor.derived("diverged_share", [&] { return exact.diverged_share(); });
    visitor.count("pages_compared", exact.pages_compared);
    visitor.count("native_instructions", exact.native_instructions);
    visitor.count("signals", exact.signals);
    visitor.map("boundaries", exact.boundaries);
    visitor.map("excluded", exact.excluded);
    visitor.text_or_null("stopped_early", exact.stopped_early);
}

void fields(auto& visitor, Like<Convergence> auto& convergence) {
    visitor.number("limit_percent", convergence.limit_percent);
    visitor.flag("reached", convergence.reached);
    visitor.nullable_number("error_percent", convergence.error_percent);
    visitor.nullable_number("seconds", convergence.seconds);
    visitor.nullable_count("samples", convergence.samples);
    visitor.added_count("taken_up_again", convergence.taken_up_again);
}

void fields(auto& visitor, Like<BurstStats> auto& bursts) {
    visitor.count("every", bursts.every);
    visitor.text_or_null("events", bursts.events);
    visitor.map("lengths", bursts.lengths);
    visitor.added_map("own_every", bursts.own_every);
    visitor.count("events_counted", bursts.events_counted);
    visitor.count("bursts", bursts.bursts);
    visitor.added_map("bursts_by_kind", bursts.bursts_by_kind);
    visitor.map("events_in_bursts", bursts.events_in_bursts);
}

void fields(auto& visitor, Like<SamplingChange> auto& change) {
    visitor.number("seconds", change.seconds);
    visitor.count("samples", change.samples);
    visitor.text("what", change.what);
}

void fields(auto& visitor, Like<SamplingStats> auto& sampling) {
    const auto each = [](auto& inner, auto& member) { fields(inner, member); };
    visitor.text("mode", sampling.mode);
    visitor.count("samples", sampling.samples);
    visitor.count("instructions", sampling.instructions);
    visitor.number("emulation_seconds", sampling.emulation_seconds);
    visitor.nullable_count("target_instructions", sampling.target_instructions);
    visitor.map("ended", sampling.ended);
    visitor.count("single_stepped", sampling.single_stepped);
    visitor.added_map("counters", sampling.counters);
    visitor.optional("exact", sampling.exact, each);
    visitor.optional("convergence", sampling.convergence, each);
    visitor.optional("bursts", sampling.bursts, each);
    visitor.parts("changes", sampling.changes, each);
    visitor.count_if(!sampling.changes.empty(), "changes_left_out", sampling.changes_left_out);
}

void fields(auto& visitor, Like<Overhead> auto& overhead) {
    visitor.count("stops", overhead.stops);
    visitor.number("stopped_seconds", overhead.stopped_seconds);
    visitor.object("pause_us", [&](auto& inner) { fields(inner, overhead.pause); });
    visitor.count("forks", overhead.forks);
    visitor.object("fork_us", [&](auto& inner) { fields(inner, overhead.fork); });
    visitor.count("induced_faults", overhead.induced_faults);
    visitor.number("waited_seconds", overhead.waited_seconds);
    visitor.number("profiler_cpu_seconds", overhead.profiler_cpu_seconds);
    visitor.number("budget_percent", overhead.budget_percent);
    visitor.number("estimated_slowdown_percent", overhead.estimated_slowdown_percent);
}

// Of a run or a process.
void exit_fields(auto& visitor, auto& ended) {
    visitor.object("exit", [&](auto& inner) {
        inner.known_int("status", ended.exit_status);
        inner.known_int("signal", ended.exit_signal);
    });
}

void fields(auto& visitor, Like<RunPart> auto& part) {
    visitor.count("number", part.number);
    visitor.text("name", part.name);
}

void fields(auto& visitor, Like<RunInfo> auto& run) {
    visitor.words("command", run.command);
    visitor.integer("pid", run.pid);
    visitor.text("started", run.started);
    visitor.number("seconds", run.seconds);
    exit_fields(visitor, run);
    visitor.hex("seed", run.seed);
    visitor.text_map("options", run.options);
    visitor.count_unless(1, "merged_runs", run.merged_runs);
    visitor.optional("part", run.part, [](auto& inner, auto& part) { fields(inner, part); });
    visitor.object("host", [&](auto& host) {
        host.text("cpu", run.cpu);
        host.small_count("cores", run.cores);
        host.text("kernel", run.kernel);
    });
}

void fields(auto& visitor, Like<ProcessInfo> auto& process) {
    visitor.integer("pid", process.pid);
    visitor.nullable_integer("parent", process.parent);
    visitor.words("command", process.command);
    visitor.number("started_seconds", process.started_seconds);
    visitor.number("seconds", process.seconds);
    exit_fields(visitor, process);
    visitor.count("samples", process.samples);
    visitor.count("instructions", process.instructions);
}

void fields(auto& visitor, Like<OtherProcesses> auto& others) {
    visitor.count("count", others.count);
    visitor.count("samples", others.samples);
    visitor.count("instructions", others.instructions);
}

void fields(auto& visitor, Like<Module> auto& module) {
    visitor.text("path", module.path);
    visitor.text("build_id", module.build_id);
    visitor.count("size", module.size_bytes);
}

}  // namespace shadowprof
