// The runners of a profile, one for each sample that is under way at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "profile/collect/process_profile.h"
#include "ptrace/thread/wait_hub.h"
#include "shadow/emulation/runner_events.h"
#include "shadow/emulation/sample_runner.h"

namespace shadowprof {

class RunnerPool {
  public:
    // All arguments must outlive it; `probes` may be null. Starts the first runner of `most` at
    // most.
    static Result<std::unique_ptr<RunnerPool>> create(WaitHub& hub, ModuleTable& modules,
                                                      ProcessProfile& profile,
                                                      const ProbeRequest* probes, std::size_t most);
    // Ends and reaps all workers.
    ~RunnerPool() { end(); }
    RunnerPool(const RunnerPool&) = delete;
    RunnerPool& operator=(const RunnerPool&) = delete;

    // Why there is no lease.
    struct Busy {
        // The runner translates ahead, or it is the only one, whose samples are live and so short.
        bool for_a_moment = false;
        std::optional<Error> refusal = {};  // another one could not be started
    };
    std::variant<SampleRunner::Lease, Busy> lease();
    // From now on `most` samples may be under way.
    void set_most(std::size_t most) { most_ = most; }
    // Whether samples are under way.
    bool is_busy() const;
    // Gives up samples that are under way, and ends the runners and their workers. No runner can be
    // leased afterwards.
    void end();
    // Stops translating ahead. A slice of it may still go on.
    void stop_preparing();

    // See RunnerEvents.
    int fd() const { return events_->fd(); }
    std::optional<RunnerEvent> take_event() { return events_->take(); }

    // To be called if the report of a runner's sample says so, before its next sample.
    Result<void> replace_worker(SampleRunner& runner);

    std::vector<pid_t> worker_pids() const;
    // Processor time of this process and all workers.
    std::uint64_t cpu_ns() const;
    PreparationTotals prepared() const;

  private:
    RunnerPool(WaitHub& hub, ModuleTable& modules, ProcessProfile& profile,
               const ProbeRequest* probes, std::size_t most)
        : hub_(hub), modules_(modules), profile_(profile), probes_(probes), most_(most) {}
    Result<void> add();

    WaitHub& hub_;
    ModuleTable& modules_;
    ProcessProfile& profile_;
    const ProbeRequest* probes_;
    std::size_t most_;
    std::unique_ptr<RunnerEvents> events_;
    std::vector<std::unique_ptr<SampleRunner>> runners_;
    PreparationTotals prepared_;  // by runners that have ended
};

}  // namespace shadowprof
