#include <array>
#include <tuple>
#include <type_traits>

#include "base/text/text_format.h"
#include "profile/kinds/registry.h"
#include "report/export/csv_records.h"
#include "report/export/csv_table.h"
#include "report/export/writers.h"
#include "report/lists/methods.h"
#include "report/lists/probe_text.h"

namespace shadowprof {
namespace {

Result<void> functions_table(const ExportInput& input, CsvTable& table) {
    TRY(write_header(table, {"module", "address", "function", "source", "instructions", "error",
                             "entries", "back_edges", "time_ns", "time_error_ns"}));
    // Methods must not be derived from lists that --top has cut. Profile files contain the whole
    // list.
    const auto methods = input.profile.methods.empty()
                             ? derive_methods(input.profile, input.symbols)
                             : input.profile.methods;
    for (const Method& method : methods) {
        add_location(table, input, method.entry);
        table.text(method.instructions ? fmt::format("{}", *method.instructions) : "");
        table.real(method.error).number(method.entries).number(method.back_edges);
        table.text(method.time_ns ? fmt::format("{}", *method.time_ns) : "");
        table.real(method.time_error_ns);
        TRY(table.end_row());
    }
    return {};
}

// Writes one row for each value, the hottest values of each instruction.
Result<void> values_table(const ExportInput& input, CsvTable& table) {
    TRY(write_header(
        table, {"module", "address", "function", "source", "operand", "executions", "invariance",
                "value", "count", "error", "type", "invariance_lower_bound"}));
    for (const ValueProfile& profile : input.profile.values)
        for (const TopValue& top : profile.top) {
            add_location(table, input, profile.at);
            table.text(printable(profile.operand)).number(profile.count);
            const auto& invariance = profile.invariance;
            table.text(invariance ? fmt::format("{:.4f}", invariance->share) : "");
            table.text(value_text(top.value, profile.type)).number(top.count);
            table.real(top.error);
            table.text(value_type(profile.type, profile.width_bytes));
            table.text(invariance ? fmt::format("{:.4f}", invariance->lower_bound) : "");
            TRY(table.end_row());
        }
    return {};
}

// Adds the columns for a decimal number and for a location. Those of the other kind are empty.
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
        table_.number(count).real(error);
        return table_.end_row();
    }

    const ExportInput& input_;
    CsvTable& table_;
};

// Writes one row for each key, for hotlists for each value, for histograms for each range of
// values.
Result<void> probes_table(const ExportInput& input, CsvTable& table) {
    TRY(write_header(table, {"probe", "reducer", "key", "key_module", "key_address", "key_function",
                             "key_source", "value", "value_module", "value_address",
                             "value_function", "value_source", "count", "error"}));
    ProbeRows rows(input, table);
    for (const ProbeProfile& probe : input.profile.probes)
        for (const ProbeEntry& entry : probe.entries) TRY(rows.write(probe, entry));
    return {};
}

// Writes one row for each reference, in the stream's order. Streams are numbered; the hottest is 0.
Result<void> streams_table(const ExportInput& input, CsvTable& table) {
    TRY(write_header(table, {"stream", "heat", "length", "occurrences", "position", "module",
                             "address", "function", "source", "data_address"}));
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

// Kinds whose records contain lists have their own functions.
template <typename Kind>
Result<void> kind_table(const ExportInput& input, CsvTable& table) {
    if constexpr (std::is_same_v<Kind, ValueList>)
        return values_table(input, table);
    else if constexpr (std::is_same_v<Kind, StreamList>)
        return streams_table(input, table);
    else if constexpr (std::is_same_v<Kind, ProbeList>)
        return probes_table(input, table);
    else
        return record_table<Kind>(input, table);
}

struct Table {
    std::string_view name;
    Result<void> (*write)(const ExportInput&, CsvTable&);
};
// The first table is that of functions.
constexpr auto all_tables = [] {
    std::array<Table, std::tuple_size_v<Kinds>> all{{{"functions", functions_table}}};
    std::size_t at = 1;
    for_each_kind([&]<typename Kind>() {
        if constexpr (!std::is_same_v<Kind, MethodList>) all[at++] = {Kind::name, kind_table<Kind>};
    });
    return all;
}();
constexpr auto table_names = [] {
    std::array<std::string_view, all_tables.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = all_tables[i].name;
    return names;
}();

}  // namespace

std::span<const std::string_view> csv_tables() {
    return table_names;
}

Result<void> write_csv(const ExportInput& input, ByteSink& sink) {
    CsvTable table(sink);
    for (const Table& each : all_tables)
        if (each.name == input.table) return each.write(input, table);
    return Error{ErrorCode::usage, 0, fmt::format("there is no table '{}'", input.table)};
}

}  // namespace shadowprof
