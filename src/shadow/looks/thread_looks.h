// Looks by short stops of single threads (Target::look), which need no privilege. A look costs the
// same however often a thread is scheduled.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "shadow/looks/kernel_share.h"
#include "shadow/looks/looks.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

class ThreadLooks final : public Looks {
  public:
    // The usual time between two looks at a thread.
    static constexpr std::chrono::nanoseconds usual_interval{15'000'000};
    // The share of its time that a processor may be ours. Looks are rarer where this would be
    // exceeded.
    static constexpr double max_own_share = 0.005;

    // `max_share`: of its time, that a thread may stand still; above 0.
    ThreadLooks(std::uint64_t seed, double max_share) : random_(seed), max_share_(max_share) {}

    Clock::time_point next() const override { return next_; }
    // One of the processors on which threads have run since the last look, chosen at random, or
    // where one ran last; nothing if none has.
    std::optional<int> processor_to_visit(const ProcessTree& processes) override;
    // Returns what was seen of the thread that was on `here` until we woke up. Without `here`, of
    // up to four that run anywhere: a thread on another processor goes on until an interrupt
    // reaches it, and if it makes a system call before that, it is seen there.
    std::vector<SeenThread> look(const ProcessTree& processes, std::optional<int> here,
                                 Clock::time_point now) override;
    // What runs until the next look counts for that.
    void skip(Clock::time_point now) override;
    std::vector<SeenThread> pause(const ProcessTree& processes, Clock::time_point now) override;
    void copy_more_of(const SeenThread& seen) override;

    std::chrono::nanoseconds paused() const override { return paused_; }
    std::uint64_t ready() const override { return ready_; }
    std::uint64_t late() const override { return late_; }
    // A thread that becomes ready while we wait for a processor, or that goes on until an interrupt
    // reaches it, is found in the next system call.
    std::optional<double> max_kernel_share() const override { return kernel_share_.share(); }

  private:
    // Most stacks are smaller, and copying this much takes some two microseconds.
    static constexpr std::size_t usual_stack_bytes = std::size_t{16} << 10;
    // How many threads are asked whether they run, in a round, and how many of these are looked at.
    static constexpr std::size_t max_threads_asked = 32, max_threads_at_once = 4;
    using ThreadId = std::pair<std::uint64_t, pid_t>;  // with the process's number
    struct Candidate {
        ThreadId id;
        Target* target = nullptr;
    };
    struct Thread {
        ThreadRunsFile file;
        std::uint64_t ran_ns = 0;             // when it was asked last
        std::optional<ThreadRuns> late = {};  // when it did not stop in time
        std::size_t stack_bytes = usual_stack_bytes;
    };

    std::vector<Candidate> running(const ProcessTree& processes);
    std::vector<Candidate> choose(std::vector<Candidate> from, std::size_t most);
    struct Round {
        std::vector<SeenThread> seen;
        double expansion = 1;  // for each thread found, how many there are
    };
    Round visit(const std::vector<Candidate>& all, std::optional<int> here,
                Clock::time_point begin);
    std::vector<Candidate> have_run(const std::vector<Candidate>& asked);
    Thread& thread(const Candidate& of);
    std::vector<Candidate> active(const std::vector<Candidate>& asked);
    std::vector<Candidate> on_processor(int here, const std::vector<Candidate>& active);
    void add_seen(Round& round, const Candidate& of, const ThreadLook& look,
                  const StackCopy& stack);
    std::optional<ThreadLook> visit(const Candidate& each, StackCopy& stack,
                                    Clock::time_point begin);
    bool was_in_kernel(ThreadId id);
    bool is_too_late(Clock::time_point now);
    void weigh(Round& round, Clock::time_point now);
    void plan_next(Clock::time_point now, double factor);

    std::mt19937_64 random_;
    double max_share_;
    OwedTime owed_;
    KernelShare kernel_share_;
    std::map<ThreadId, Thread> threads_;
    std::array<StackCopy, max_threads_at_once> stacks_;  // of the last look
    Clock::time_point next_, last_;
    std::chrono::nanoseconds paused_{0}, own_{0};
    std::chrono::nanoseconds looked_{0};  // of our time in this round, in Target::look()
    std::optional<ThreadId> last_seen_;   // the thread that was found running last
    std::size_t running_ = 1;             // how many ran at the last round
    std::uint64_t stops_ = 0, rounds_ = 0, ready_ = 0, late_ = 0;
};

}  // namespace shadowprof
