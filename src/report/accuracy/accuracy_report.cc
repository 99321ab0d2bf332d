#include "report/accuracy/accuracy_report.h"

#include <algorithm>
#include <array>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "report/profile_file/json_writer.h"
#include "report/profile_file/profile_reader.h"
#include "report/symbols/location_name.h"
#include "report/symbols/merged_symbols.h"

namespace shadowprof {
namespace {

// Names for a metric's entries, in the order of accuracy_rows.
struct EntryNames {
    const char* worst;  // heading of the worst entries
    const char* entries;
};
constexpr std::array<EntryNames, accuracy_rows.size()> entry_names{{
    {"Hot paths that are not hot in SAMPLED", "hot paths"},
    {"Top values that differ most", "instructions"},
    {"Invariances that differ most", "instructions"},
    {"Edges that differ most", "edges"},
    {"Calls that SAMPLED has too little of", "top calls"},
    {"Methods that SAMPLED has too little of", "top methods"},
    {"Data streams that SAMPLED has too little of", "top streams"},
}};

// Distances are small, so two decimal places are shown.
std::string fine_percent(double share) {
    return fmt::format("{:.2f}%", 100 * share);
}

// Names both ends of an edge, and the first and the last block of a path.
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
        "{:<8} {}: mode {}, {} {}, {} {}", name, printable(side.path),
        s.mode.empty() ? "unknown" : printable(s.mode), short_count(static_cast<double>(s.samples)),
        noun_for(s.samples, "sample"), short_count(static_cast<double>(s.instructions)),
        noun_for(s.instructions, "instruction"));
    if (side.profile.run.merged_runs != 1)
        text += fmt::format(" of {} runs", side.profile.run.merged_runs);
    return text + "\n";
}

std::string metric_text(std::size_t row, const Accuracy& accuracy, bool with_floors) {
    const auto& [kind, measure, member] = accuracy_rows[row];
    const AccuracyMetric& metric = accuracy.*member;
    std::string text = fmt::format("{:<11} {:<10} ", kind, measure);
    if (!metric.value) return text + fmt::format("not counted: {}\n", metric.missing);
    text += fmt::format("{:>7}  ", fine_percent(*metric.value));
    if (with_floors)
        text += fmt::format("{:>7}  ", metric.floor ? fine_percent(*metric.floor) : "-");
    text += fmt::format("{} {}", short_count(static_cast<double>(metric.entries)),
                        entry_names[row].entries);
    if (member == &Accuracy::values && accuracy.values_covered)
        text += fmt::format(", {} of the weight", fine_percent(*accuracy.values_covered));
    return text + "\n";
}

std::string table_text(const Accuracy& accuracy, bool with_floors) {
    std::string text =
        with_floors ? fmt::format("{:<22} {:>7}  {:>7}\n", "", "sampled", "floor") : std::string();
    for (std::size_t row = 0; row < accuracy_rows.size(); ++row)
        text += metric_text(row, accuracy, with_floors);
    return text;
}

std::string coverage_text(const Accuracy& accuracy) {
    if (!accuracy.coverage)
        return "coverage               not known: it is not known what was executed\n";
    return fmt::format("coverage               {:>7}  of the instructions executed{}\n",
                       fine_percent(*accuracy.coverage),
                       accuracy.coverage_by_full ? ", by FULL's count" : "");
}

std::string worst_text(std::size_t row, const Accuracy& accuracy, SymbolSource& symbols) {
    const AccuracyMetric& metric = accuracy.*accuracy_rows[row].metric;
    if (metric.worst.empty()) return {};
    std::string text = fmt::format("\n{}\n  {:>7} {:>8} {:>8}\n", entry_names[row].worst, "part",
                                   "full", "sampled");
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

    Result<void> write(const AccuracyInputs& inputs) {
        json_.begin_object();
        json_.member("schema", accuracy_schema);
        side("full", inputs.full);
        side("sampled", inputs.sampled);
        if (inputs.floor) side("floor", *inputs.floor);
        json_.member("full_is_exact", accuracy_.full_is_exact);
        json_.member("coverage", accuracy_.coverage);
        for (const AccuracyRow& row : accuracy_rows) metric(row);
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

    void metric(const AccuracyRow& row) {
        const AccuracyMetric& metric = accuracy_.*row.metric;
        json_.key(row.kind);
        if (!metric.value) return json_.null();
        json_.begin_object();
        json_.member(row.measure, *metric.value);
        json_.member("floor", metric.floor);
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
        for (const AccuracyRow& row : accuracy_rows) {
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

std::string accuracy_text(const Accuracy& accuracy, const AccuracyInputs& inputs,
                          SymbolSource& symbols) {
    std::string text = side_text("full", inputs.full) + side_text("sampled", inputs.sampled);
    if (inputs.floor) text += side_text("floor", *inputs.floor);
    for (const std::string& note : accuracy.notes)
        text += fmt::format("note     {}\n", printable(note));
    text += "\n" + table_text(accuracy, inputs.floor.has_value());
    text += coverage_text(accuracy);
    for (std::size_t row = 0; row < accuracy_rows.size(); ++row)
        text += worst_text(row, accuracy, symbols);
    return text;
}

Result<void> write_accuracy(const Accuracy& accuracy, const AccuracyInputs& inputs,
                            SymbolSource& symbols, ByteSink& sink) {
    return AccuracyWriter(accuracy, symbols, sink).write(inputs);
}

Result<void> report_accuracy(const AccuracyOptions& options, std::FILE* out) {
    const int read_from_stdin =
        (options.full == "-") + (options.sampled == "-") + (options.floor == "-");
    if (read_from_stdin > 1)
        return Error{ErrorCode::usage, 0, "standard input can be read only once"};
    TRY_ASSIGN(const ProfileFile full, read_profile(options.full));
    TRY_ASSIGN(const ProfileFile sampled, read_profile(options.sampled));
    TRY_ASSIGN(Accuracy accuracy, measure_accuracy(full.profile, sampled.profile, options.top));
    AccuracyInputs inputs{{options.full, full.profile}, {options.sampled, sampled.profile}};
    ProfileFile floor;
    if (!options.floor.empty()) {
        TRY_ASSIGN(floor, read_profile(options.floor));
        if (auto added = add_floors(accuracy, full.profile, floor.profile); !added)
            return std::move(added).error().with_context("--floor");
        inputs.floor.emplace(AccuracySide{options.floor, floor.profile});
    }
    MergedSymbols symbols;
    symbols.add(full.profile.modules, full.symbols);
    symbols.add(sampled.profile.modules, sampled.symbols);
    symbols.number_as(accuracy.modules);
    StringSink sink;
    if (options.json)
        TRY(write_accuracy(accuracy, inputs, symbols, sink));
    else
        TRY(sink.write(accuracy_text(accuracy, inputs, symbols)));
    const std::string& text = sink.text();
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0)
        return errno_error("cannot write the report");
    return {};
}

}  // namespace shadowprof
