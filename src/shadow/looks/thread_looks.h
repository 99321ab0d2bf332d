// Looks at the threads of a run at random moments, to see where they are while they run
// (Target::look). So the stacks' shares of the processor time become known, without any privilege.
// A look costs the same however often a thread is scheduled.
//
// The moments are independent of what the program does, so a thread is found at a place with the
// probability that is the place's share of the thread's time (simple random sampling in time;
// Cochran, "Sampling Techniques", 2.2). The kernel counts how much time that is.
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
#include "shadow/program/process_tree.h"

namespace shadowprof {

class ThreadLooks {
  public:
    using Clock = std::chrono::steady_clock;

    // The usual time between two looks at a thread.
    static constexpr std::chrono::nanoseconds usual_interval{15'000'000};
    // The share of its time that a thread may stand still for looks where more is allowed, and that
    // a processor may be ours. Looks are rarer where this would be exceeded.
    static constexpr double usual_share = 0.0025, max_own_share = 0.005;

    // `max_share`: of its time, that a thread may stand still; above 0.
    ThreadLooks(std::uint64_t seed, double max_share) : random_(seed), max_share_(max_share) {}

    struct Seen {
        std::uint64_t process = 0;  // its number
        pid_t pid = 0, tid = 0;
        std::uint64_t exec_count = 0;  // Target::exec_count()
        // See ThreadLook. Without registers, the thread was at work in the kernel.
        std::optional<CpuState> cpu;
        std::optional<std::uint64_t> system_call;
        const StackCopy* stack = nullptr;  // valid until the next look()
        std::uint64_t time_ns = 0;         // processor time that the look stands for

        bool is_in_kernel() const { return !cpu || system_call; }
    };

    // When there is something to look at again.
    Clock::time_point next() const { return next_; }
    // One of the processors on which threads have run since the last look, chosen at random, or
    // where one ran last; nothing if none has.
    std::optional<int> processor_to_visit(const ProcessTree& processes);
    // To be called when that moment has come. Returns what was seen of the thread that was on
    // `here`, our processor, until we woke up. Without `here`, of up to four that run anywhere: a
    // thread on another processor goes on until an interrupt reaches it, and if it makes a system
    // call before that, it is seen there.
    std::vector<Seen> look(const ProcessTree& processes, std::optional<int> here,
                           Clock::time_point now);
    // For what else is looked at.
    std::uint64_t random_number() { return random_(); }
    // From the next look on, more of this thread's stack is copied.
    void copy_more_of(const Seen& seen);
    // To be called instead of look(), if it could not be on time at a processor that a thread runs
    // on. What runs until the next look counts for that.
    void skip(Clock::time_point now);
    // No thread is looked at until the next look(). What runs meanwhile counts nothing.
    void pause();

    // How long threads have stood still for looks or waited for us meanwhile.
    std::chrono::nanoseconds paused() const { return paused_; }
    // How many were found ready, without a processor.
    std::uint64_t ready() const { return ready_; }
    // How many rounds came to nothing, as their moment had passed when we got a processor.
    std::uint64_t late() const { return late_; }

  private:
    struct Process {
        std::uint64_t cpu_ns = 0;   // by the kernel, at the last round
        std::uint64_t owed_ns = 0;  // what it ran that no look stands for yet
        std::uint64_t found = 0;    // threads that ran in this round
    };
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
    void note_run(std::uint64_t number, pid_t pid);
    struct Round {
        std::vector<Seen> seen;
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
    std::map<std::uint64_t, Process> processes_;
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
