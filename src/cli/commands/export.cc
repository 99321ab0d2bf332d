// shadowprof export: converts a profile to the format of another tool.
#include "report/export/export.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/files/safe_output.h"
#include "base/text/text_format.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/profile_argument.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/work_line.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {
namespace {

struct ExportRequest {
    const ExportFormat* format = nullptr;
    std::vector<std::string> paths;
    std::string output = "-", module;
    std::optional<std::string_view> table;
    std::optional<StackWeight> weight;
    std::size_t top = 0;  // 0: everything
};

std::vector<std::string_view> format_names() {
    std::vector<std::string_view> names;
    for (const ExportFormat& format : export_formats()) names.push_back(format.name);
    return names;
}

// Checks that the format supports the options that were given.
Result<void> check(const ExportRequest& request) {
    const ExportFormat* format = request.format;
    if (request.top > 0 && !format->takes_top)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--top cannot be used with --format={}, whose readers need the "
                                 "whole profile",
                                 format->name)};
    if (request.weight == StackWeight::time && !format->takes_weight)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--weight={} cannot be used with --format={}, which counts "
                                 "executions",
                                 name(*request.weight), format->name)};
    if (request.table && !format->takes_table)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--table cannot be used with --format={}, which has no tables",
                                 format->name)};
    if (!request.module.empty() && !format->one_module)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--module cannot be used with --format={}, which has all modules",
                                 format->name)};
    if (request.paths.size() > 1 && !format->takes_parts)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--format={} takes one profile: it has no parts", format->name)};
    if (format->binary && request.output == "-" && isatty(STDOUT_FILENO) != 0)
        return Error{ErrorCode::usage, 0,
                     fmt::format("--format={} is binary and not for a terminal; name a file with "
                                 "-o",
                                 format->name)};
    return {};
}

Result<void> export_profile(const ExportRequest& request) {
    TRY(check(request));
    const ExportFormat* format = request.format;
    WorkLine line(stderr, isatty(STDERR_FILENO) != 0);
    std::vector<std::string> paths = request.paths;
    if (paths.empty()) {
        TRY_ASSIGN(paths.emplace_back(), unnamed_profile("export --format=FORMAT"));
    }
    std::vector<ProfileFile> files;
    for (const std::string& path : paths) {
        TRY_ASSIGN(ProfileFile read, read_profile(path, reading_on(line)));
        files.push_back(std::move(read));
    }
    ProfileFile& file = files.front();
    const auto wanted = format->takes_weight ? request.weight : StackWeight::instructions;
    TRY_ASSIGN(const StackWeight weight, choose_weight(file.profile, wanted));
    if (request.top > 0) keep_hottest(file.profile, request.top, weight);
    ExportInput input{.profile = file.profile,
                      .symbols = file.symbols,
                      .table = request.table.value_or(default_csv_table),
                      .weight = weight};
    std::vector<ExportInput> more;
    for (std::size_t i = 1; i < files.size(); ++i)
        more.push_back({.profile = files[i].profile, .symbols = files[i].symbols});
    input.more_parts = more;
    if (format->one_module) {
        TRY_ASSIGN(input.module, choose_module(file.profile, request.module));
        if (request.module.empty())
            say("export: branches of '{}', the hottest module; --module names another",
                printable(file.profile.modules[*input.module].path));
    }
    TRY_ASSIGN(SafeOutput output, SafeOutput::open(request.output));
    WatchedSink watched(output, line, "writing");
    const bool is_shared = request.output == "-" && isatty(STDOUT_FILENO) != 0;
    TRY(format->write(input, is_shared ? static_cast<ByteSink&>(output) : watched));
    TRY(output.commit(static_cast<pid_t>(file.profile.run.pid)));
    return {};
}

}  // namespace

int export_main(std::span<const std::string> words) {
    ExportRequest request;
    std::string formats = "what to write:";
    for (const ExportFormat& format : export_formats())
        formats += fmt::format("\n{} (for {})", format.name, format.consumer);
    const auto tables = csv_tables();
    CommandLine line(
        {"export", "[options] --format FORMAT [PROFILE...]", "Converts a profile for other tools."},
        {profile_arguments(request.paths, ". Several are parts of one file, for callgrind"),
         {.names = "--format",
          .value = "FORMAT",
          .help = formats,
          .words = format_names(),
          .choose = [&](std::size_t format) { request.format = &export_formats()[format]; },
          .required = true},
         {.names = "-o,--output",
          .value = "FILE",
          .help = "where to write it; - is standard output [-]",
          .set = set_file_name(request.output)},
         {.names = "--module",
          .value = "FILE",
          .help = "for formats of one file: the path or base name of the file whose branches to "
                  "export [the hottest file]",
          .set = set_text(request.module)},
         {.names = "--table",
          .value = "TABLE",
          .help = fmt::format("which table of csv: {} [{}]", fmt::join(tables, ", "),
                              default_csv_table),
          .words = {tables.begin(), tables.end()},
          .choose = [&](std::size_t table) { request.table = tables[table]; }},
         {.names = "--weight",
          .value = "WHAT",
          .help = fmt::format("for formats of call stacks, what these are weighted by: {} [time, "
                              "where it is known]",
                              fmt::join(stack_weight_names, " or ")),
          .words = {stack_weight_names.begin(), stack_weight_names.end()},
          .choose = [&](std::size_t weight) { request.weight = static_cast<StackWeight>(weight); }},
         {.names = "--top",
          .value = "N",
          .help = "write only the hottest N rows of csv, or call stacks of other formats; 0 writes "
                  "all [0]",
          .set = set_count(request.top)}});
    if (const auto done = line.parse(words, exit_own_failure)) return *done;
    const auto exported = export_profile(request);
    if (exported) return 0;
    say("export: {}", exported.error().message);
    return exit_own_failure;
}

}  // namespace shadowprof
