// shadowprof callgrind: takes valgrind's options, and writes what its callgrind writes.
#include <cstdlib>

#include "base/files/safe_output.h"
#include "cli/commands/callgrind_files.h"
#include "cli/commands/callgrind_log.h"
#include "cli/commands/commands.h"
#include "cli/commands/launch_check.h"
#include "cli/commands/probe_places.h"
#include "cli/options/callgrind_options.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/shield.h"
#include "cli/terminal/signal_action.h"
#include "report/symbols/module_functions.h"
#include "session/run_target.h"

namespace shadowprof {
namespace {

const char* variable(const char* name) {
    return std::getenv(name);
}

void log_start(const CallgrindRequest& request, pid_t process, CallgrindLog& log) {
    if (request.quiet) return;
    log.begin(process, request.options.command);
    for (const auto& warning : request.warnings)
        log.add(process, fmt::format("warning: {}", warning));
}

// Returns as the program did, or dies as it did.
int run(const CallgrindRequest& request, const Shielded& shielded) {
    // A name that cannot be written is known before the program starts.
    for (const auto& name : {request.output, request.log})
        if (!name.empty())
            if (auto opened = SafeOutput::open(name, NamedBy::command); !opened)
                return failed("callgrind", opened.error());
    FunctionTables tables;
    CallgrindLog log(request.log, request.log_descriptor);
    CallgrindFiles files(request, log, tables);
    MappedPlaces places;
    ModuleFunctions functions(tables);
    auto outcome = run_target(
        request.options,
        {.end_request = shielded.end_request(),
         .on_start =
             [&](pid_t program) {
                 shielded.send_program_id(program);
                 log_start(request, program, log);
             },
         .part_file = [&](pid_t process, unsigned number) { return files.part(process, number); },
         .rest_is_a_part = true,
         .on_process_end =
             [&](RunOutcome of_process) {
                 if (!shielded.is_orphaned()) files.end_process(std::move(of_process));
             }},
        nullptr, {&places, &functions});
    if (!outcome) return failed("callgrind", outcome.error());
    if (shielded.is_orphaned()) return exit_own_failure;
    const RunInfo& ended = outcome->profile.run;
    if (auto logged = log.end(static_cast<pid_t>(ended.pid)); !logged)
        return failed("callgrind", logged.error());
    if (files.failure()) return failed("callgrind", *files.failure());
    if (ended.exit_signal) die_by_signal(*ended.exit_signal);
    return ended.exit_status.value_or(0);
}

}  // namespace

int callgrind_main(std::span<const std::string> words) {
    const auto request = parse_callgrind(words, variable);
    if (!request) {
        failed("callgrind", request.error());
        if (request.error().code == ErrorCode::usage) say("try 'shadowprof callgrind --help'");
        return exit_own_failure;
    }
    if (request->text) return put(stdout, *request->text), 0;
    if (auto found = check_command(request->options.command.front()); !found)
        return failed("callgrind", found.error(), exit_status_of(found.error()));
    survive_failed_writes();
    const auto end =
        run_in_our_group([&](const Shielded& shielded) { return run(*request, shielded); });
    if (!end) return failed("callgrind", end.error());
    if (end->signal) die_by_signal(*end->signal);
    return end->status;
}

}  // namespace shadowprof
