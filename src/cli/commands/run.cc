// shadowprof run: profiles a program from start to end, and ends in the same way.
#include <cstdlib>

#include "cli/commands/commands.h"
#include "cli/commands/launch_check.h"
#include "cli/commands/mapped_interpreters.h"
#include "cli/commands/probe_places.h"
#include "cli/commands/profile_output.h"
#include "cli/options/options.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/shield.h"
#include "cli/terminal/signal_action.h"
#include "report/symbols/module_functions.h"
#include "report/symbols/symbolizer.h"
#include "session/run_target.h"

namespace shadowprof {
namespace {

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Returns as the target did, or dies as it did.
int run(const RunRequest& request, const Shielded& shielded, LiveView* live) {
    if (auto found = check_debug_search(request.debug_search); !found)
        return failed("run", found.error());
    auto output = SafeOutput::open(request.output);
    if (!output) return failed("run", output.error());
    FunctionTables tables;
    auto control = open_control(request, shielded, *output, tables, live);
    if (!control) return failed("run", control.error());
    MappedPlaces places;
    MappedInterpreters interpreters;
    const bool is_exact = request.options.mode == SamplingMode::exact;
    using enum ModuleFunctions::Beforehand;
    ModuleFunctions functions(tables, is_exact ? debug_information : nothing);
    auto outcome = with_progress(request, live, [&](const ProgressListener& on_progress) {
        return run_target(request.options,
                          {.end_request = shielded.end_request(),
                           .on_progress = on_progress,
                           .on_start = [&](pid_t program) { shielded.send_program_id(program); },
                           .part_file = part_files(request, shielded, *output, tables)},
                          &*control, {&places, &functions, &interpreters});
    });
    if (!outcome) return failed("run", outcome.error());
    if (shielded.is_orphaned()) return exit_own_failure;
    const RunInfo ended = outcome->profile.run;
    auto delivered =
        deliver(std::move(outcome).value(), request, tables, std::move(output).value());
    if (!delivered) return failed("run", delivered.error());
    if (ended.exit_signal) die_by_signal(*ended.exit_signal);
    return ended.exit_status.value_or(0);
}

}  // namespace

int run_main(std::span<const std::string> words) {
    const auto request = parse_run(words, environment("SHADOWPROF_OPTIONS"));
    if (!request) {
        failed("run", request.error());
        if (request.error().code == ErrorCode::usage) say("try 'shadowprof run --help'");
        return exit_own_failure;
    }
    if (request->text) return put(stdout, *request->text), 0;
    if (auto found = check_command(request->options.command.front()); !found)
        return failed("run", found.error(), exit_status_of(found.error()));
    const auto live = LiveView::open(*request);
    if (!live) return failed("run", live.error());
    survive_failed_writes();
    const auto end = run_in_our_group(
        [&](const Shielded& shielded) { return run(*request, shielded, live->get()); },
        screen_of(*live));
    if (!end) return failed("run", end.error());
    if (end->signal) die_by_signal(*end->signal);
    return end->status;
}

}  // namespace shadowprof
