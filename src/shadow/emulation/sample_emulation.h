// Has snapshots emulated in a worker process, one after the other, and feeds the collector with
// what the worker traces. It has no thread of its own: SampleRunner decides which thread does what.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "emu/worker/worker_process.h"
#include "profile/collect/process_profile.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/emulation/collecting_listener.h"
#include "shadow/request/probe_request.h"
#include "shadow/window/preparation.h"
#include "shadow/window/sample_job.h"
#include "shadow/window/stack_copies.h"

namespace shadowprof {

class SampleEmulation {
  public:
    SampleEmulation(SampleCollector& collector, ModuleTable& modules, const ProbeRequest* probes)
        : collector_(collector), modules_(modules), probes_(probes, modules) {}

    // Starts the worker, also in place of a lost one. A worker dies with the thread that started
    // it. All functions below need a worker.
    Result<void> start_worker();
    pid_t worker_pid() const { return worker_->pid(); }
    bool has_worker() const { return worker_.has_value(); }

    // Prepares the probes for code with these mappings. Returns false if their places are not known
    // yet.
    Result<bool> prepare_probes(const MemoryMap& map) { return probes_.try_prepare(*worker_, map); }

    // Lets the worker begin a live sample. To be called in the stop; does only what takes little
    // time.
    void begin_live(SampleJob& job);
    // To be called in the stop. Follows the emulation until `until` at most.
    WorkerProcess::Followed follow_live(const SampleJob& job,
                                        LiveSnapshot::Clock::time_point until);
    // To be called in the stop instead of begin_live(). Notes where the threads are.
    void observe(const SampleJob& job);

    // Follows a sample to its end, or what is left of a live one.
    SampleReport run(SampleJob& job, EmulationHooks& hooks);

    // The program counters of the stacks that the last live sample, `job`, or observe() saw.
    std::vector<GuestAddress> take_seen_addresses(const SampleJob& job);
    Result<bool> prepare(Preparation& preparation, PreparationTotals& totals) {
        return preparation.work(*worker_, forget_code_, totals);
    }
    // The pages that the worker has read from a live sample's process, until the next sample
    // begins; nothing if not all of them were recorded.
    std::optional<EarlierPages> recorded_pages() const;
    // Tells the worker not to use what it knows of the program's code any more.
    void forget_code() { forget_code_ = true; }

  private:
    Result<void> begin_worker(const SampleJob& job);
    SampleRequest request_of(const SampleJob& job, std::span<const std::byte> facts) const;
    void rehearse(const SampleJob& job, SampleReport& report);
    void find_window(const SampleJob& job, const SampleOutcome& outcome, SampleReport& report);
    Result<void> begin_replica(SampleJob& job);
    std::optional<std::vector<GuestAddress>> stack_of(const SampleJob& job,
                                                      GuestThreads::Index thread);
    void copy_stack(const SampleJob& job, GuestThreads::Index thread);
    void keep_stack(const SampleJob& job, GuestThreads::Index thread);
    double speed_of(const SampleJob& job) const;
    // What a sample has done, or is likely to do.
    struct Emulated {
        GuestThreads::Done of_lead;
        std::optional<SampleEnd> end;  // nothing: it is not over
        bool other_ended_it = false;   // RunResult::other_ended_it
    };
    std::uint32_t weigh(const SampleJob& job, const Emulated& emulated) const;
    void note_window(const SampleJob& job, const SampleOutcome& outcome,
                     SampleReport& report) const;
    bool begin_collecting(const SampleJob& job, MapResolver& resolver, GuestThreads::Index thread);
    bool is_wiped(const SampleJob& job);
    void follow(SampleJob& job, EmulationHooks& hooks, SampleReport& report);
    Result<SampleOutcome> listen(const SampleJob& job, CollectingListener& listener,
                                 SampleReport& report);
    void conclude(const SampleJob& job, const SampleOutcome& outcome, SampleReport& report);

    SampleCollector& collector_;
    ModuleTable& modules_;
    WorkerProbes probes_;
    std::optional<WorkerProcess> worker_;
    bool forget_code_ = false;
    int misplaced_workers_ = 0;
    Unwinder unwinder_;
    StackCopies stacks_;
    std::vector<GuestAddress> seen_at_;
    std::vector<GuestAddress> first_stack_;  // for the sample under way
    // The stacks of the sample's threads, if it has a replica.
    std::map<GuestThreads::Index, std::optional<std::vector<GuestAddress>>> unwound_;
    std::uint32_t weight_ = 1;
    std::uint64_t expected_instructions_ = 0;  // SampleStart::expected_instructions
    std::uint64_t skip_instructions_ = 0;      // SampleStart::skip_instructions
    std::optional<SampleOutcome> again_;       // second run of a live sample with a window
    bool comes_to_nothing_ = false;            // the sample under way does not count
    std::uint64_t last_process_ = 0;
    LiveSnapshot::Clock::time_point next_wiped_check_;
    Result<void> begun_ = {};  // whether the worker has the job
};

}  // namespace shadowprof
