// Profiles as other tools read them.
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
    std::string_view consumer;  // what reads it
    Result<void> (*write)(const ExportInput& input, ByteSink& sink);
    bool one_module = false;    // describes a single file, ExportInput::module
    bool takes_top = false;     // makes sense of the hottest entries alone
    bool takes_weight = false;  // has call stacks that ExportInput::weight is of
    bool binary = false;
};

std::span<const ExportFormat> export_formats();
// Null if there is none of that name.
const ExportFormat* find_export_format(std::string_view name);
// The tables that `csv` has.
std::span<const std::string_view> csv_tables();

// The module that `wanted` names by its path or, where only one has it, by its base name; where
// `wanted` is empty, the one whose branches were executed most. Errors: ErrorCode::usage if there
// is no such module or if there are several, not_found if the profile has no branches of files.
Result<std::uint32_t> choose_module(const Profile& profile, std::string_view wanted);

// Leaves the `most` hottest entries of each list that formats with `takes_top` read; stacks by
// `weight`.
void keep_hottest(Profile& profile, std::size_t most, StackWeight weight);

}  // namespace shadowprof
