// shadowprof attach: profiles a running process, then lets it go.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mapped_interpreters.h"
#include "cli/commands/probe_places.h"
#include "cli/commands/profile_output.h"
#include "cli/options/options.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/shield.h"
#include "cli/terminal/signal_action.h"
#include "ptrace/proc/attach_refusal.h"
#include "report/symbols/module_functions.h"
#include "report/symbols/symbolizer.h"
#include "session/attach_target.h"

namespace shadowprof {
namespace {

// Returns the sampler's first note about samples, or a general reason.
std::string why_nothing_was_seen(const Profile& profile) {
    const auto note = std::ranges::find_if(
        profile.notes, [](const std::string& each) { return each.find("sample") != each.npos; });
    return note == profile.notes.end() ? "no sample was due before the end" : *note;
}

Result<void> attach(const RunRequest& request, const Shielded& shielded, LiveView* live) {
    TRY(check_debug_search(request.debug_search));
    TRY_ASSIGN(auto output, SafeOutput::open(request.output));
    FunctionTables tables;
    TRY_ASSIGN(auto control, open_control(request, shielded, output, tables, live));
    MappedPlaces places;
    MappedInterpreters interpreters;
    ModuleFunctions functions(tables);
    TRY_ASSIGN(auto outcome, with_progress(request, live, [&](const ProgressListener& on_progress) {
                   return attach_target(request.options, shielded.end_request(), on_progress,
                                        &control, {&places, &functions, &interpreters});
               }));
    if (shielded.is_orphaned()) return {};
    std::optional<std::string> why_nothing;
    if (outcome.profile.sampling.instructions == 0 && outcome.profile.latency.empty())
        why_nothing = why_nothing_was_seen(outcome.profile);
    const auto remarks = std::move(outcome.remarks);
    TRY(deliver(std::move(outcome), request, tables, std::move(output)));
    if (request.quiet) return {};
    if (why_nothing) say("no instructions were seen: {}", *why_nothing);
    for (const auto& remark : remarks) say("{}", remark);
    return {};
}

int attach_failed(const Error& error) {
    say("attach: {}", error.message);
    return exit_own_failure;
}

}  // namespace

int attach_main(std::span<const std::string> words) {
    const char* environment = std::getenv("SHADOWPROF_OPTIONS");
    const auto request = parse_attach(words, environment == nullptr ? "" : environment);
    if (!request) {
        attach_failed(request.error());
        if (request.error().code == ErrorCode::usage) say("try 'shadowprof attach --help'");
        return exit_own_failure;
    }
    if (request->text) return put(stdout, *request->text), 0;
    if (const auto allowed = check_attachable(*request->options.attach_to); !allowed)
        return attach_failed(allowed.error());
    const auto live = LiveView::open(*request);
    if (!live) return attach_failed(live.error());
    survive_failed_writes();
    const auto end = run_in_own_group(
        [&](const Shielded& shielded) {
            const auto done = attach(*request, shielded, live->get());
            return done ? 0 : attach_failed(done.error());
        },
        screen_of(*live));
    if (!end) return attach_failed(end.error());
    if (!end->signal) return end->status;
    say("attach: the tracing process of shadowprof was killed by signal {}", *end->signal);
    return exit_own_failure;
}

}  // namespace shadowprof
