// Writes the records of a kind as a CSV table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/text_format.h"
#include "report/export/csv_table.h"
#include "report/lists/record_columns.h"
#include "report/symbols/location_name.h"

namespace shadowprof {

// Names of columns. A location has four columns; those of `at` have no prefix.
class CsvHeader {
  public:
    explicit CsvHeader(CsvTable& table) : table_(table) {}

    void text(std::string_view name, std::string_view) { table_.text(name); }
    void count(std::string_view name, const std::optional<std::uint64_t>&) { table_.text(name); }
    void place(std::string_view name, const CodeLocation*) {
        for (std::string_view part : {"module", "address", "function", "source"})
            table_.text(name == "at" ? std::string(part) : fmt::format("{}_{}", name, part));
    }
    void places(std::string_view name, const auto&) { table_.text(name); }

  private:
    CsvTable& table_;
};

class CsvRow {
  public:
    CsvRow(CsvTable& table, const ExportInput& input) : table_(table), input_(input) {}

    void text(std::string_view, std::string_view s) { table_.text(printable(s)); }
    void count(std::string_view, const std::optional<std::uint64_t>& n) {
        table_.text(n ? std::to_string(*n) : "");
    }
    void place(std::string_view, const CodeLocation* l) {
        if (l) return add_location(table_, input_, *l);
        for (int column = 0; column < 4; ++column) table_.text("");
    }
    void places(std::string_view, const auto& list) {
        std::string names;
        for (const CodeLocation l : list) {
            auto name = location_name(input_.profile.modules, input_.symbols, l);
            std::ranges::replace(name, ';', ':');
            names += (names.empty() ? "" : ";") + name;
        }
        table_.text(names);
    }

  private:
    CsvTable& table_;
    const ExportInput& input_;
};

template <typename Kind>
Result<void> record_table(const ExportInput& input, CsvTable& table) {
    CsvHeader header(table);
    RecordColumns names(header);
    const typename Kind::Record nothing{};
    fields(names, nothing);
    TRY(table.end_row());
    CsvRow row(table, input);
    RecordColumns cells(row);
    for (const auto& record : Kind::of(input.profile)) {
        fields(cells, record);
        TRY(table.end_row());
    }
    return {};
}

}  // namespace shadowprof
