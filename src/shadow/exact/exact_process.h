// A process that exact mode follows, from where it stands still at its begin to its end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "ptrace/process/target.h"
#include "shadow/exact/exact_worker.h"
#include "shadow/exact/forwarded_run.h"

namespace shadowprof {

class ExactProcess {
  public:
    // `target` must outlive it, and all that the worker and the options refer to. The probes of
    // `options` are set to those of the worker.
    ExactProcess(Target& target, std::unique_ptr<ExactWorker> worker, ForwardedOptions options);
    ExactProcess(const ExactProcess&) = delete;
    ExactProcess& operator=(const ExactProcess&) = delete;

    Target& target() const { return target_; }
    // Null before begin().
    ForwardedRun* run() { return run_ ? &*run_ : nullptr; }
    std::uint64_t intervals() const { return stats_.intervals; }
    std::uint64_t instructions() const { return worker_->trace.instructions(); }

    // Stops the process and begins to emulate it. False, as below: end() must follow.
    bool begin();
    // Does what can be done without waiting (ForwardedRun::step()). False if the process is
    // followed no further.
    bool step();

    enum class Fate : std::uint8_t {
        ended,     // by itself
        let_go,    // it goes on, as it can be followed no further
        given_up,  // it goes on, as we were told to end (ForwardedOptions::is_given_up)
        killed,    // as its state was lost
    };
    struct Outcome {
        Fate fate = Fate::ended;
        ExactTrace::Counts counts;
        ExactStats stats;  // `stopped_early` says why it was let go or killed
        std::vector<Divergence> divergences;
        WorkerCounters counters = {};
        std::map<pid_t, std::string> thread_names = {};
        std::vector<ThreadLife> thread_lives = {};
        std::uint64_t thread_lives_left_out = 0;
        std::unique_ptr<ExactWorker> worker = {};  // for another process; null: it is of no use
    };
    // A process that has not ended goes on by itself, or is killed if its state was lost.
    // Afterwards nothing else may be called.
    Outcome end();

  private:
    Result<bool> try_begin();
    bool note(Result<bool> followed);
    Fate fate() const;
    void settle(Outcome& outcome);

    Target& target_;
    std::unique_ptr<ExactWorker> worker_;
    ForwardedOptions options_;
    ExactStats stats_;
    std::vector<Divergence> divergences_;
    std::optional<ScopedStop> stop_;
    std::optional<ForwardedRun> run_;
    std::optional<Error> failure_;
};

}  // namespace shadowprof
