#include <algorithm>
#include <array>

#include "report/export/frames.h"
#include "report/export/writers.h"
#include "report/location_name.h"
#include "report/methods.h"
#include "report/text_format.h"
#include "report/value_text.h"

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

std::string_view kind_name(EdgeKind kind) {
    constexpr std::array<std::string_view, 6> names = {"taken",    "fall-through", "jump",
                                                       "indirect", "call",         "return"};
    return names.at(static_cast<std::size_t>(kind));
}

Result<void> write_functions(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"module", "address", "function", "source", "instructions", "error",
                       "entries", "back_edges"}));
    // What is derived from lists that --top has cut would be wrong: files have the whole list.
    const auto methods = input.profile.methods.empty()
                             ? derive_methods(input.profile, input.symbols)
                             : input.profile.methods;
    for (const Method& method : methods) {
        add_location(table, input, method.entry);
        table.text(method.instructions ? fmt::format("{}", *method.instructions) : "");
        table.error(method.error).number(method.entries).number(method.back_edges);
        TRY(table.end_row());
    }
    return {};
}

Result<void> write_edges(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"from_module", "from_address", "from_function", "from_source", "to_module",
                       "to_address", "to_function", "to_source", "kind", "count", "error"}));
    for (const Edge& edge : input.profile.edges) {
        add_location(table, input, edge.from);
        add_location(table, input, edge.to);
        table.text(kind_name(edge.kind)).number(edge.count).error(edge.error);
        TRY(table.end_row());
    }
    return {};
}

Result<void> write_calls(const ExportInput& input, CsvTable& table) {
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
Result<void> write_values(const ExportInput& input, CsvTable& table) {
    TRY(header(table, {"module", "address", "function", "source", "operand", "executions",
                       "invariance", "value", "count", "error"}));
    for (const ValueProfile& profile : input.profile.values)
        for (const TopValue& top : profile.top) {
            add_location(table, input, profile.at);
            table.text(printable(profile.operand)).number(profile.count);
            table.text(fmt::format("{:.4f}", profile.invariance));
            table.text(value_text(top.value)).number(top.count);
            table.error(top.error);
            TRY(table.end_row());
        }
    return {};
}

struct Table {
    std::string_view name;
    Result<void> (*write)(const ExportInput&, CsvTable&);
};
constexpr Table tables[] = {{"functions", write_functions},
                            {"edges", write_edges},
                            {"calls", write_calls},
                            {"values", write_values}};
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
