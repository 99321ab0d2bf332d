#include "report/export/csv_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/text/text_format.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// RFC 4180, section 2: quotes surround fields with quotes, commas or line breaks; quotes are
// doubled.
std::string quoted(std::string_view field) {
    if (field.find_first_of("\",\r\n") == std::string_view::npos) return std::string(field);
    std::string text = "\"";
    for (char c : field) {
        if (c == '"') text += '"';
        text += c;
    }
    return text + '"';
}

}  // namespace

CsvTable& CsvTable::text(std::string_view field) {
    if (started_) line_ += ',';
    started_ = true;
    line_ += quoted(field);
    return *this;
}

CsvTable& CsvTable::number(std::uint64_t count) {
    return text(fmt::format("{}", count));
}

CsvTable& CsvTable::real(const std::optional<double>& width) {
    return text(width ? fmt::format("{}", *width) : "");
}

Result<void> CsvTable::end_row() {
    line_ += "\r\n";
    const std::string line = std::exchange(line_, {});
    started_ = false;
    return sink_.write(line);
}

void add_location(CsvTable& table, const ExportInput& input, CodeLocation at) {
    const CodeSymbol& symbol = input.symbols.symbol(at);
    const auto& modules = input.profile.modules;
    table.text(at.module < modules.size() ? printable(modules[at.module].path) : "");
    table.text(fmt::format("{:#x}", at.address));
    table.text(full_function_name(modules, input.symbols, at));
    table.text(symbol.file.empty() ? ""
                                   : fmt::format("{}:{}", printable(symbol.file), symbol.line));
}

Result<void> write_header(CsvTable& table, std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) table.text(name);
    return table.end_row();
}

}  // namespace shadowprof
