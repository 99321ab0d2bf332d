// Writes tables in the format of RFC 4180.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "base/result.h"
#include "profile/code_location.h"
#include "report/export/export_input.h"

namespace shadowprof {

class CsvTable {
  public:
    explicit CsvTable(ByteSink& sink) : sink_(sink) {}

    CsvTable& text(std::string_view field);
    CsvTable& number(std::uint64_t count);
    CsvTable& real(const std::optional<double>& width);
    Result<void> end_row();

  private:
    ByteSink& sink_;
    std::string line_;
    bool started_ = false;
};

// Adds module, address, function and source, the columns that each table has for a location.
void add_location(CsvTable& table, const ExportInput& input, CodeLocation at);

Result<void> write_header(CsvTable& table, std::initializer_list<std::string_view> names);

}  // namespace shadowprof
