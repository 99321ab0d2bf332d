// What profiling a launched and an attached target have in common.
#pragma once

#include <functional>

#include "base/result.h"
#include "profile/collect/process_profile.h"
#include "ptrace/target/target.h"
#include "shadow/request/dump_request.h"
#include "shadow/request/probe_request.h"
#include "shadow/request/run_options.h"
#include "shadow/request/run_outcome.h"
#include "shadow/request/symbol_access.h"

namespace shadowprof {

// The profile while it is made, and what it is made with. To be constructed before the target.
class Profiling {
  public:
    // `symbols.places` is needed where probes have place tests.
    explicit Profiling(const RunOptions& options, SymbolAccess symbols = {});
    Profiling(const Profiling&) = delete;
    Profiling& operator=(const Profiling&) = delete;

    WaitHub& hub() { return hub_; }
    ModuleTable& modules() { return modules_; }
    ProcessProfile& collected() { return collected_; }
    std::uint64_t seed() const { return seed_; }
    // Null if there are no probes.
    const ProbeRequest* probes() const { return probes_.texts.empty() ? nullptr : &probes_; }

    // Notes the target and the time.
    void begin(const Target& target, std::vector<std::string> command);
    // While the target goes on: adds what was collected so far. Counts are those of the whole run;
    // with DumpPart::phase, errors are as phase_between() needs them. May be called by another
    // thread, but not while end() is.
    Profile complete(SampledSoFar sampled, DumpPart part);
    // Makes such a profile, or a phase, what is written.
    RunOutcome outcome_so_far(Profile profile);
    // The target has ended, maybe; as end() does.
    void note_end(const Target& target);
    // The outcome but for the cost of what still runs. `fill` adds what the sampler knows.
    void end(const Target& target, const std::function<void(Profile&)>& fill);
    // When all workers have ended.
    RunOutcome take_outcome();

  private:
    void add_bursts(Profile& profile);
    void add_collected(Profile& profile, DumpPart part);

    const RunOptions options_;
    const std::uint64_t seed_;
    const ProbeRequest probes_;
    WaitHub hub_;
    ModuleTable modules_;
    ProcessProfile collected_;
    RunOutcome outcome_;
};

}  // namespace shadowprof
