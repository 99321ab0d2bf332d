// Takes samples of a running target until it ends: stops it, forks a replica, lets it go on, and
// has the replica emulated by a runner.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/result.h"
#include "profile/process_profile.h"
#include "ptrace/replica.h"
#include "ptrace/target.h"
#include "shadow/cost_account.h"
#include "shadow/run_target.h"
#include "shadow/sample_runner.h"
#include "shadow/sample_schedule.h"

namespace shadowprof {

// When sampling ends before the target does.
struct SamplingEnd {
    int request_fd = -1;            // when this is readable
    bool with_last_sample = false;  // when the options let no more samples be taken
};

class Sampler {
  public:
    using Clock = std::chrono::steady_clock;

    // `modules` and `profile` must outlive it.
    static Result<std::unique_ptr<Sampler>> create(const RunOptions& options, std::uint64_t seed,
                                                   WaitHub& hub, ModuleTable& modules,
                                                   ProcessProfile& profile);
    // Kills and reaps every replica and worker.
    ~Sampler();

    // Samples the target, which runs, until it ends or `end` says so. In the latter case no replica
    // lives any more.
    Result<void> run(Target& target, const ProgressListener& on_progress,
                     const SamplingEnd& end = {});
    // Finishes what is left of samples. The target is no longer looked at.
    void finish();

    // Adds what was measured to sampling, overhead, syscalls and notes.
    void fill(Profile& profile) const;

  private:
    struct ActiveSample {
        Replica replica;
        Clock::time_point start;
        SampleRunner* runner = nullptr;
    };

    Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
            ProcessProfile& profile);
    Result<void> add_runner();
    Result<void> loop(Target& target, const ProgressListener& on_progress, const SamplingEnd& end);
    void take_statuses(Target& target);
    void take_runner_events();
    void on_step(SampleRunner& runner);
    void on_finished(SampleRunner& runner);
    bool may_take_more(Clock::time_point now) const;
    bool wants_sample(Clock::time_point now) const;
    void look_for_end(const SamplingEnd& end, Clock::time_point now);
    bool is_busy() const;
    void try_sample(Target& target);
    enum class Taken : std::uint8_t {
        yes,
        idle,   // no thread executes instructions
        later,  // try again at once: the thread is in the vDSO, whose data no sample can read
    };
    Result<Taken> take_sample(Target& target, SampleRunner& runner);
    Taken note_idle();
    std::optional<ThreadSnapshot> choose_thread(ScopedStop& stop, pid_t leader);
    bool is_in_vdso(const Target& target, GuestAddress pc);
    void look_for_unforked(const SampleReport& report);
    bool read_unforked();
    bool check_unforked(const Target& target);
    void note_refusal(const Error& error);
    std::list<ActiveSample>::iterator find_active(const SampleRunner& runner);
    void release(SampleRunner& runner);
    void count_faults();
    int sleep_ms(Clock::time_point now) const;
    SampleRunner* idle_runner();

    const RunOptions options_;
    WaitHub& hub_;
    ModuleTable& modules_;
    ProcessProfile& profile_;
    std::mt19937_64 random_;
    SampleSchedule schedule_;
    CostAccount costs_;
    std::unique_ptr<RunnerEvents> events_;
    UniqueFd child_signals_;
    std::vector<std::unique_ptr<SampleRunner>> runners_;
    std::list<ActiveSample> active_;

    pid_t target_pid_ = 0;
    Clock::time_point begin_, end_;
    std::optional<std::uint64_t> faults_at_fork_;
    Clock::duration last_pause_{};
    std::uint64_t started_ = 0;
    std::optional<Mapping> vdso_;  // of the program executed last
    std::uint64_t vdso_exec_count_ = 0;
    bool has_unforked_ = false;  // the target has memory that forks leave out
    UnforkedMemory unforked_;
    int unforked_changes_ = 0;  // in a row
    bool dissolved_ = false;    // the target is no longer ours to sample
    // Set when sampling ends: how long samples that are under way may go on.
    std::optional<Clock::time_point> give_up_;
    unsigned idle_in_a_row_ = 0;

    SamplingStats stats_;
    SyscallStats syscalls_;
    std::map<std::string, std::uint64_t> end_reasons_;
    std::map<std::string, std::uint64_t> refusals_;
    std::uint64_t damaged_ = 0;
};

}  // namespace shadowprof
