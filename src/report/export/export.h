// Exports profiles in the formats of other tools.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "report/export/export_input.h"

namespace shadowprof {

struct ExportFormat {
    std::string_view name;
    std::string_view consumer;  // the tool that reads it
    Result<void> (*write)(const ExportInput& input, ByteSink& sink);
    bool one_module = false;    // describes a single file, ExportInput::module
    bool takes_top = false;     // the hottest entries alone are useful
    bool takes_weight = false;  // has call stacks, weighted by ExportInput::weight
    bool takes_table = false;   // has tables, of which ExportInput::table is one
    bool takes_parts = false;   // of several profiles, as parts of one run
    bool binary = false;
};

std::span<const ExportFormat> export_formats();
// The tables that the `csv` format can write.
std::span<const std::string_view> csv_tables();

// Returns the module that `wanted` names, by its path or by a base name that only one module has.
// If `wanted` is empty, returns the module whose branches were executed most. Errors:
// ErrorCode::usage if there is no such module or more than one, ErrorCode::not_found if the profile
// has no branches in files.
Result<std::uint32_t> choose_module(const Profile& profile, std::string_view wanted);

// Keeps the `most` hottest entries of each list that formats with `takes_top` read. Stacks are
// ordered by `weight`.
void keep_hottest(Profile& profile, std::size_t most, StackWeight weight);

}  // namespace shadowprof
