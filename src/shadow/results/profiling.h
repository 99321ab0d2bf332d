// The parts of profiling that launched and attached targets have in common.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "profile/code/script_functions.h"
#include "profile/collect/process_profile.h"
#include "ptrace/process/target.h"
#include "shadow/request/dump_request.h"
#include "shadow/request/probe_request.h"
#include "shadow/request/run_options.h"
#include "shadow/request/run_outcome.h"
#include "shadow/request/symbol_access.h"

namespace shadowprof {

// A profile under construction, and what it is made with. To be constructed before the target.
class Profiling {
  public:
    // `symbols.places` is needed if probes have place tests.
    explicit Profiling(const RunOptions& options, SymbolAccess symbols = {});
    Profiling(const Profiling&) = delete;
    Profiling& operator=(const Profiling&) = delete;

    WaitHub& hub() { return hub_; }
    ModuleTable& modules() { return modules_; }
    ProcessProfile& collected() { return collected_; }
    std::uint64_t seed() const { return seed_; }
    // Null if there are no probes.
    const ProbeRequest* probes() const { return probes_.empty() ? nullptr : &probes_; }

    // Notes the target and the time.
    void begin(const Target& target, std::vector<std::string> command);
    // Adds what was collected so far to `sampled`, while the target goes on. Counts are those of
    // the whole run. With DumpPart::phase, errors are as phase_between() needs them. May be called
    // by another thread, but not during end().
    Profile complete(SampledSoFar sampled, DumpPart part) {
        return complete(std::move(sampled), part, collected_);
    }
    // The same for counts that were collected apart.
    Profile complete(SampledSoFar sampled, DumpPart part, ProcessProfile& collected);
    // For counts that are to be collected apart. Must not outlive this.
    std::unique_ptr<ProcessProfile> make_collected();
    // Makes such a profile, or a phase, into what is written.
    RunOutcome outcome_so_far(Profile profile);
    // Notes how the target ended, if it did; end() does so, too.
    void note_end(const Target& target);
    // Completes the outcome, except for the cost of what still runs. `fill` adds what the sampler
    // knows.
    void end(const Target& target, const std::function<void(Profile&)>& fill);
    // Changes the completed profile.
    void change(const std::function<void(Profile&)>& change) { change(outcome_.profile); }
    // To be called when all workers have ended.
    RunOutcome take_outcome();

  private:
    CollectorOptions collector_options();
    void add_bursts(Profile& profile, ProcessProfile& collected);
    static void add_collected(Profile& profile, DumpPart part, ProcessProfile& collected);

    const RunOptions options_;
    const std::uint64_t seed_;
    const ProbeRequest probes_;
    const SymbolAccess symbols_;
    WaitHub hub_;
    ModuleTable modules_;
    ScriptFunctions scripts_{modules_};
    ProcessProfile collected_;
    RunOutcome outcome_;
};

}  // namespace shadowprof
