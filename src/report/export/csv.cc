#include <algorithm>
#include <array>

#include "profile/kinds/values/value_text.h"
#include "report/export/frames.h"
#include "report/export/writers.h"
#include "report/location_name.h"
#include "report/methods.h"
#include "report/probe_text.h"
#include "report/text_format.h"

namespace shadowprof {
namespace {

// RFC 4180, 2: quotes around what holds quotes, commas or line breaks; quotes doubled.
std::string quoted(std::string_view field) {
    if (field.find_first_of("\",\r\n") == std::string_view::npos) return std::string(field);
    std::string text = "\"";
    for (char c : field) {
        if (c == '"') text += '"';
        text += c;
    }
    return text + '"';
}

class CsvTable {
  public:
    explicit CsvTable(ByteSink& sink) : sink_(sink) {}

    CsvTable& text(std::string_view field) {
        if (!line_.empty() || started_) line_ += ',';
        started_ = true;
        line_ += quoted(field);
        return *this;
    }
    CsvTable& number(std::uint64_t count) { return text(fmt::format("{}", count)); }
    CsvTable& error(const std::optional<double>& width) {
        return text(width ? fmt::format("{}", *width) : "");
    }
    Result<void> end_row() {
        line_ += "\r\n";
        const std::string line = std::exchange(line_, {});
        started_ = false;
        return sink_.write(line);
    }

  private:
    ByteSink& sink_;
    std::string line_;
    bool started_ = false;
};

// module, address, function, source: what each table says of a location.
void add_location(CsvTable& table, const ExportInput& input, CodeLocation at) {
    const CodeSymbol& symbol = input.symbols.symbol(at);
    const auto& modules = input.profile.modules;
    table.text(at.module < modules.size() ? printable(modules[at.module].path) : "");
    table.text(fmt::format("{:#x}", at.address));
    table.text(full_function_name(modules, input.symbols, at));
    table.text(symbol.file.empty() ? ""
                                   : fmt::format("{}:{}", printable(symbol.file), symbol.line));
}

Result<void> header(CsvTable& table, std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) table.text(name);
    return table.end_row();
}

Result<void> functions_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"module", "address", "function", "source", "instructions", "error",
                       "entries", "back_edges", "time_ns", "time_error_ns"}));
    // What is derived from lists that --top has cut would be wrong: files have the whole list.
    const auto methods = input.profile.methods.empty()
                             ? derive_methods(input.profile, input.symbols)
                             : input.profile.methods;
    for (const Method& method : methods) {
        add_location(table, input, method.entry);
        table.text(method.instructions ? fmt::format("{}", *method.instructions) : "");
        table.error(method.error).number(method.entries).number(method.back_edges);
        table.text(method.time_ns ? fmt::format("{}", *method.time_ns) : "");
        table.error(method.time_error_ns);
        TRY(table.end_row());
    }
    return {};
}

Result<void> edges_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"from_module", "from_address", "from_function", "from_source", "to_module",
                       "to_address", "to_function", "to_source", "kind", "count", "error"}));
    for (const Edge& edge : input.profile.edges) {
        add_location(table, input, edge.from);
        add_location(table, input, edge.to);
        table.text(name(edge.kind)).number(edge.count).error(edge.error);
        TRY(table.end_row());
    }
    return {};
}

Result<void> calls_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table,
               {"site_module", "site_address", "site_function", "site_source", "callee_module",
                "callee_address", "callee_function", "callee_source", "count", "error"}));
    for (const CallPair& call : input.profile.calls) {
        add_location(table, input, call.site);
        add_location(table, input, call.callee);
        table.number(call.count).error(call.error);
        TRY(table.end_row());
    }
    return {};
}

// One row a value, the hottest values of each instruction.
Result<void> values_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"module", "address", "function", "source", "operand", "executions",
                       "invariance", "value", "count", "error", "type", "invariance_lower_bound"}));
    for (const ValueProfile& profile : input.profile.values)
        for (const TopValue& top : profile.top) {
            add_location(table, input, profile.at);
            table.text(printable(profile.operand)).number(profile.count);
            const auto& invariance = profile.invariance;
            table.text(invariance ? fmt::format("{:.4f}", invariance->share) : "");
            table.text(value_text(top.value, profile.type)).number(top.count);
            table.error(top.error);
            table.text(value_type(profile.type, profile.width_bytes));
            table.text(invariance ? fmt::format("{:.4f}", invariance->lower_bound) : "");
            TRY(table.end_row());
        }
    return {};
}

// A number in decimal, or the four columns of a location; a row of a probe has both, twice.
void add_datum(CsvTable& table, const ExportInput& input, const ProbeDatum& datum,
               ProbeDatumKind kind) {
    const auto* number = std::get_if<std::uint64_t>(&datum);
    table.text(number ? probe_number(*number, kind == ProbeDatumKind::signed_number) : "");
    if (const auto* location = std::get_if<CodeLocation>(&datum))
        return add_location(table, input, *location);
    for (int column = 0; column < 4; ++column) table.text("");
}

class ProbeRows {
  public:
    ProbeRows(const ExportInput& input, CsvTable& table) : input_(input), table_(table) {}

    Result<void> write(const ProbeProfile& probe, const ProbeEntry& entry) {
        if (probe.reducer == Reducer::hotlist) {
            for (const ProbeTop& top : entry.top) {
                begin(probe, entry);
                add_datum(table_, input_, top.value, probe.value);
                TRY(end(top.count, top.error));
            }
            return {};
        }
        if (probe.reducer != Reducer::histogram)
            return write_number(probe, entry,
                                probe.reducer == Reducer::sum ? fmt::format("{}", entry.sum) : "",
                                entry.count);
        for (const auto& [bucket, count] : entry.histogram)
            TRY(write_number(probe, entry, bucket_text(bucket), count));
        return {};
    }

  private:
    Result<void> write_number(const ProbeProfile& probe, const ProbeEntry& entry,
                              std::string_view value, std::uint64_t count) {
        begin(probe, entry);
        table_.text(value);
        for (int column = 0; column < 4; ++column) table_.text("");
        return end(count, std::nullopt);
    }
    void begin(const ProbeProfile& probe, const ProbeEntry& entry) {
        table_.text(printable(probe.name)).text(name(probe.reducer));
        add_datum(table_, input_, entry.key, probe.key);
    }
    Result<void> end(std::uint64_t count, const std::optional<double>& error) {
        table_.number(count).error(error);
        return table_.end_row();
    }

    const ExportInput& input_;
    CsvTable& table_;
};

// One row a key; of hotlists one a value, of histograms one a range of values.
Result<void> probes_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"probe", "reducer", "key", "key_module", "key_address", "key_function",
                       "key_source", "value", "value_module", "value_address", "value_function",
                       "value_source", "count", "error"}));
    ProbeRows rows(input, table);
    for (const ProbeProfile& probe : input.profile.probes)
        for (const ProbeEntry& entry : probe.entries) TRY(rows.write(probe, entry));
    return {};
}

// One row a reference, in the stream's order; streams by number, the hottest is 0.
Result<void> streams_table(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"stream", "heat", "length", "occurrences", "position", "module", "address",
                       "function", "source", "data_address"}));
    const auto& streams = input.profile.streams;
    for (std::size_t number = 0; number < streams.size(); ++number)
        for (std::size_t i = 0; i < streams[number].references.size(); ++i) {
            const DataStream& stream = streams[number];
            table.number(number).number(stream.heat()).number(stream.references.size());
            table.number(stream.occurrences).number(i);
            add_location(table, input, stream.references[i].at);
            table.text(fmt::format("{:#x}", stream.references[i].address));
            TRY(table.end_row());
        }
    return {};
}

struct Table {
    std::string_view name;
    Result<void> (*write)(const ExportInput&, CsvTable&);
};
constexpr Table tables[] = {{"functions", functions_table}, {"edges", edges_table},
                            {"calls", calls_table},         {"values", values_table},
                            {"streams", streams_table},     {"probes", probes_table}};
constexpr auto table_names = [] {
    std::array<std::string_view, std::size(tables)> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = tables[i].name;
    return names;
}();

}  // namespace

std::span<const std::string_view> csv_tables() {
    return table_names;
}

Result<void> write_csv(const ExportInput& input, ByteSink& sink) {
    CsvTable table(sink);
    for (const Table& each : tables)
        if (each.name == input.table) return each.write(input, table);
    return Error{ErrorCode::usage, 0, fmt::format("there is no table '{}'", input.table)};
}

}  // namespace shadowprof
