#include "report/accuracy_report.h"

#include <algorithm>
#include <array>

#include "report/json_writer.h"
#include "report/location_name.h"
#include "report/merged_symbols.h"
#include "report/profile_reader.h"
#include "report/text_format.h"

namespace shadowprof {
namespace {

// What a metric is called, in the order in which they are shown.
struct MetricRow {
    const char* kind;  // of profile
    const char* measure;
    AccuracyMetric Accuracy::*metric;
    const char* worst;  // head of its worst entries
    const char* entries;
};
constexpr std::array<MetricRow, 6> metric_rows{{
    {"paths", "accuracy", &Accuracy::paths, "Hot paths that are not hot in SAMPLED", "hot paths"},
    {"values", "difference", &Accuracy::values, "Top values that differ most", "instructions"},
    {"edges", "accuracy", &Accuracy::edges, "Edges that differ most", "edges"},
    {"calls", "overlap", &Accuracy::calls, "Calls that SAMPLED has too little of", "top calls"},
    {"methods", "overlap", &Accuracy::methods, "Methods that SAMPLED has too little of",
     "top methods"},
    {"streams", "overlap", &Accuracy::streams, "Data streams that SAMPLED has too little of",
     "top streams"},
}};

// Distances are small numbers, of which two digits behind the point are shown.
std::string fine_percent(double share) {
    return fmt::format("{:.2f}%", 100 * share);
}

// The ends of an edge, the first and the last block of a path.
std::string entry_name(const AccuracyEntry& entry, const std::vector<Module>& modules,
                       SymbolSource& symbols) {
    if (entry.at.empty()) return "(nothing)";
    std::string name = location_name(modules, symbols, entry.at.front());
    if (entry.at.size() > 2) name += fmt::format(" -> .. {} ..", entry.at.size() - 2);
    if (entry.at.size() > 1) name += " -> " + location_name(modules, symbols, entry.at.back());
    if (!entry.what.empty()) name += "  " + printable(entry.what);
    return name;
}

std::string side_text(const char* name, const AccuracySide& side) {
    const SamplingStats& s = side.profile.sampling;
    std::string text = fmt::format(
        "{:<8} {}: mode {}, {} samples, {} instructions", name, printable(side.path),
        s.mode.empty() ? "unknown" : printable(s.mode), short_count(static_cast<double>(s.samples)),
        short_count(static_cast<double>(s.instructions)));
    if (side.profile.run.merged_runs != 1)
        text += fmt::format(" of {} runs", side.profile.run.merged_runs);
    return text + "\n";
}

std::string metric_text(const MetricRow& row, const Accuracy& accuracy) {
    const AccuracyMetric& metric = accuracy.*row.metric;
    if (!metric.value)
        return fmt::format("{:<8} {:<10} -        {}\n", row.kind, row.measure, metric.missing);
    std::string text =
        fmt::format("{:<8} {:<10} {:>7}  {} {}", row.kind, row.measure, fine_percent(*metric.value),
                    short_count(static_cast<double>(metric.entries)), row.entries);
    if (row.metric == &Accuracy::values && accuracy.values_covered)
        text += fmt::format(", {} of the weight", fine_percent(*accuracy.values_covered));
    return text + "\n";
}

std::string coverage_text(const Accuracy& accuracy) {
    if (!accuracy.coverage)
        return "coverage            -        it is not known what was executed\n";
    return fmt::format("coverage            {:>7}  of the instructions executed{}\n",
                       fine_percent(*accuracy.coverage),
                       accuracy.coverage_by_full ? ", by FULL's count" : "");
}

std::string worst_text(const MetricRow& row, const Accuracy& accuracy, SymbolSource& symbols) {
    const AccuracyMetric& metric = accuracy.*row.metric;
    if (metric.worst.empty()) return {};
    std::string text =
        fmt::format("\n{}\n  {:>7} {:>8} {:>8}\n", row.worst, "part", "full", "sampled");
    for (const AccuracyEntry& entry : metric.worst)
        text += fmt::format("  {:>7} {:>8} {:>8}  {}\n", fine_percent(entry.distance),
                            fine_percent(entry.full), fine_percent(entry.sampled),
                            entry_name(entry, accuracy.modules, symbols));
    return text;
}

class AccuracyWriter {
  public:
    AccuracyWriter(const Accuracy& accuracy, SymbolSource& symbols, ByteSink& sink)
        : accuracy_(accuracy), symbols_(symbols), json_(sink) {}

    Result<void> write(const AccuracySide& full, const AccuracySide& sampled) {
        json_.begin_object();
        json_.member("schema", accuracy_schema);
        side("full", full);
        side("sampled", sampled);
        json_.member("full_is_exact", accuracy_.full_is_exact);
        json_.member("coverage", accuracy_.coverage);
        for (const MetricRow& row : metric_rows) metric(row);
        notes();
        json_.end_object();
        return json_.finish();
    }

  private:
    void side(const char* name, const AccuracySide& side) {
        json_.key(name);
        json_.begin_object();
        json_.member("path", side.path);
        json_.member("mode", side.profile.sampling.mode);
        json_.member("runs", side.profile.run.merged_runs);
        json_.member("samples", side.profile.sampling.samples);
        json_.member("instructions", side.profile.sampling.instructions);
        json_.end_object();
    }

    void metric(const MetricRow& row) {
        const AccuracyMetric& metric = accuracy_.*row.metric;
        json_.key(row.kind);
        if (!metric.value) return json_.null();
        json_.begin_object();
        json_.member(row.measure, *metric.value);
        json_.member("entries", metric.entries);
        if (row.metric == &Accuracy::values) json_.member("covered", accuracy_.values_covered);
        json_.key("worst");
        json_.begin_array();
        for (const AccuracyEntry& each : metric.worst) entry(each);
        json_.end_array();
        json_.end_object();
    }

    void entry(const AccuracyEntry& entry) {
        json_.begin_object();
        json_.key("at");
        json_.begin_array();
        for (const CodeLocation& location : entry.at) place(location);
        json_.end_array();
        if (!entry.what.empty()) json_.member("what", entry.what);
        json_.member("full", entry.full);
        json_.member("sampled", entry.sampled);
        json_.member("part", entry.distance);
        json_.end_object();
    }

    void place(CodeLocation location) {
        json_.begin_object();
        json_.member("module", location.module < accuracy_.modules.size()
                                   ? accuracy_.modules[location.module].path
                                   : std::string{});
        json_.member("address", hex_text(location.address));
        json_.member("name", location_name(accuracy_.modules, symbols_, location));
        json_.end_object();
    }

    void notes() {
        json_.key("notes");
        json_.begin_array();
        for (const std::string& note : accuracy_.notes) json_.value(note);
        for (const MetricRow& row : metric_rows) {
            const AccuracyMetric& metric = accuracy_.*row.metric;
            if (!metric.value) json_.value(fmt::format("{}: {}", row.kind, metric.missing));
        }
        if (accuracy_.coverage_by_full)
            json_.value("coverage: of the instructions that FULL counted");
        json_.end_array();
    }

    const Accuracy& accuracy_;
    SymbolSource& symbols_;
    JsonWriter json_;
};

}  // namespace

std::string accuracy_text(const Accuracy& accuracy, const AccuracySide& full,
                          const AccuracySide& sampled, SymbolSource& symbols) {
    std::string text = side_text("full", full) + side_text("sampled", sampled);
    for (const std::string& note : accuracy.notes)
        text += fmt::format("note     {}\n", printable(note));
    text += "\n";
    for (const MetricRow& row : metric_rows) text += metric_text(row, accuracy);
    text += coverage_text(accuracy);
    for (const MetricRow& row : metric_rows) text += worst_text(row, accuracy, symbols);
    return text;
}

Result<void> write_accuracy(const Accuracy& accuracy, const AccuracySide& full,
                            const AccuracySide& sampled, SymbolSource& symbols, ByteSink& sink) {
    return AccuracyWriter(accuracy, symbols, sink).write(full, sampled);
}

Result<void> report_accuracy(const AccuracyOptions& options, std::FILE* out) {
    if (options.full == "-" && options.sampled == "-")
        return Error{ErrorCode::usage, 0, "standard input can be read only once"};
    TRY_ASSIGN(const ProfileFile full, read_profile(options.full));
    TRY_ASSIGN(const ProfileFile sampled, read_profile(options.sampled));
    TRY_ASSIGN(const Accuracy accuracy,
               measure_accuracy(full.profile, sampled.profile, options.top));
    MergedSymbols symbols;
    symbols.add(full.profile.modules, full.symbols);
    symbols.add(sampled.profile.modules, sampled.symbols);
    symbols.number_as(accuracy.modules);
    const AccuracySide full_side{options.full, full.profile};
    const AccuracySide sampled_side{options.sampled, sampled.profile};
    StringSink sink;
    if (options.json)
        TRY(write_accuracy(accuracy, full_side, sampled_side, symbols, sink));
    else
        TRY(sink.write(accuracy_text(accuracy, full_side, sampled_side, symbols)));
    const std::string& text = sink.text();
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0)
        return errno_error("cannot write the report");
    return {};
}

}  // namespace shadowprof
