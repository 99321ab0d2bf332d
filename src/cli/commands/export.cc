// shadowprof export: reads a profile and writes it as another tool reads it.
#include "report/export/export.h"

#include <unistd.h>

#include <algorithm>

#include "base/files/safe_output.h"
#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {
namespace {

struct ExportRequest {
    std::string format, path, output = "-", module, table = "functions";
    std::string weight{name(StackWeight::instructions)};
    std::size_t top = 0;  // 0: everything
};

std::vector<std::string_view> format_names() {
    std::vector<std::string_view> names;
    for (const ExportFormat& format : export_formats()) names.push_back(format.name);
    return names;
}

Result<const ExportFormat*> checked_format(const ExportRequest& request) {
    const ExportFormat* format = find_export_format(request.format);
    if (format == nullptr)
        return bad_option_value("--format", printable(request.format), format_names());
    const auto tables = csv_tables();
    if (std::find(tables.begin(), tables.end(), request.table) == tables.end())
        return bad_option_value("--table", printable(request.table), tables);
    if (request.top > 0 && !format->takes_top)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--top is not of --format={}: its readers need the whole profile",
                                 format->name)};
    TRY_ASSIGN(const auto weight, stack_weight(request.weight));
    if (weight != StackWeight::instructions && !format->takes_weight)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--weight={} is not of --format={}: it counts executions",
                                 request.weight, format->name)};
    if (!request.module.empty() && !format->one_module)
        return Error{
            ErrorCode::usage, 0,
            fmt::format("--module is not of --format={}: it has all modules in it", format->name)};
    if (format->binary && request.output == "-" && isatty(STDOUT_FILENO) != 0)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--format={} is binary and not for a terminal; name a file with "
                                 "-o",
                                 format->name)};
    return format;
}

Result<void> export_profile(const ExportRequest& request) {
    TRY_ASSIGN(const ExportFormat* format, checked_format(request));
    TRY_ASSIGN(ProfileFile file, read_profile(request.path));
    TRY_ASSIGN(const auto weight, stack_weight(request.weight));
    TRY(check_weight(file.profile, weight));
    if (request.top > 0) keep_hottest(file.profile, request.top, weight);
    ExportInput input{
        .profile = file.profile, .symbols = file.symbols, .table = request.table, .weight = weight};
    if (format->one_module) {
        TRY_ASSIGN(input.module, choose_module(file.profile, request.module));
        if (request.module.empty())
            say("export: branches of '{}', the hottest module; --module names another",
                printable(file.profile.modules[*input.module].path));
    }
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(request.output));
    TRY(format->write(input, output));
    TRY(output.commit(static_cast<pid_t>(file.profile.run.pid)));
    return {};
}

}  // namespace

int export_main(std::span<const std::string> words) {
    CommandLine line("Converts a profile for other tools.", "shadowprof export");
    ExportRequest request;
    std::string formats = "what to write:";
    for (const ExportFormat& format : export_formats())
        formats += fmt::format("\n{} (for {})", format.name, format.consumer);
    line.text("--format", request.format, formats).required();
    line.text("-o,--output", request.output, "where to write it; - is standard output")
        .show_default();
    line.text("--module", request.module,
              "for formats of one file: the path or base name of the file whose branches to export "
              "[the hottest file]");
    line.text("--table", request.table,
              fmt::format("which table of csv: {}", fmt::join(csv_tables(), ", ")))
        .show_default();
    line.text("--weight", request.weight,
              fmt::format("for formats of call stacks, what these are weighted by: {}",
                          fmt::join(stack_weight_names, " or ")))
        .value_name("WHAT")
        .show_default();
    line.count(
            "--top", request.top,
            "write only the hottest N rows of csv, or call stacks of other formats; 0 writes all")
        .value_name("N");
    line.text("PROFILE", request.path, "a file that `shadowprof run` wrote; - is standard input")
        .required();
    if (const auto done = line.parse("export", words)) return *done;
    const auto exported = export_profile(request);
    if (exported) return 0;
    say("export: {}", exported.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
