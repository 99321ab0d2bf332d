// Looks at the threads of a run at random moments, to see where they are while they run. So the
// stacks' shares of the processor time become known.
//
// A thread is found at a place with the probability that is the place's share of the thread's time
// (simple random sampling in time; Cochran, "Sampling Techniques", 2.2). The kernel counts how much
// time that is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/cpu_state.h"
#include "ptrace/unwind/stack_copy.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

// Where a thread was.
struct SeenThread {
    std::uint64_t process = 0;  // its number
    pid_t pid = 0, tid = 0;
    std::uint64_t exec_count = 0;  // Target::exec_count()
    // Without registers, the thread was at work in the kernel. In a system call, the program
    // counter is behind its instruction.
    std::optional<CpuState> cpu;
    std::optional<std::uint64_t> system_call;  // in which it was
    // The outermost addresses in the kernel, the outermost first, if its call is not known
    // (KernelSymbols).
    std::vector<std::uint64_t> kernel_calls = {};
    const StackCopy* stack = nullptr;  // valid until the next look()
    std::uint64_t time_ns = 0;         // processor time that the look stands for

    bool is_in_kernel() const { return !cpu || system_call || !kernel_calls.empty(); }
};

class Looks {
  public:
    using Clock = std::chrono::steady_clock;

    // The share of its time that a thread may stand still for looks where more is allowed.
    static constexpr double usual_share = 0.0025;

    virtual ~Looks() = default;

    // When there is something to look at again.
    virtual Clock::time_point next() const = 0;
    // The processor to wait on for that moment, if there is one.
    virtual std::optional<int> processor_to_visit(const ProcessTree& processes) = 0;
    // To be called when that moment has come. Returns what was seen since the last call. `here`:
    // our processor, if we have waited there.
    virtual std::vector<SeenThread> look(const ProcessTree& processes, std::optional<int> here,
                                         Clock::time_point now) = 0;
    // To be called instead of look(), if it could not be on time where we should have waited.
    virtual void skip(Clock::time_point now) = 0;
    // No thread is looked at until the next look(). What runs meanwhile counts nothing. Returns
    // what was seen before.
    virtual std::vector<SeenThread> pause(const ProcessTree& processes, Clock::time_point now) = 0;
    // From the next look on, more of this thread's stack is copied, if possible.
    virtual void copy_more_of(const SeenThread&) {}

    // How long threads have stood still for looks or waited for us meanwhile.
    virtual std::chrono::nanoseconds paused() const = 0;
    // How many threads were found ready, without a processor; how often the moment had passed
    // before we had a processor; and how many records were lost.
    virtual std::uint64_t ready() const { return 0; }
    virtual std::uint64_t late() const { return 0; }
    virtual std::uint64_t lost() const { return 0; }
    // Whether they are by the kernel's clock.
    virtual bool is_clock() const { return false; }
    // The kernel's share of the processor time, if looks may have found more in it.
    virtual std::optional<double> max_kernel_share() const { return std::nullopt; }
};

// The processor time of processes that no look stands for yet.
class OwedTime {
  public:
    // To be called before each look, for all processes in turn. `is_first`: what it ran until now
    // counts nothing. Returns whether it owes any.
    bool note(std::uint64_t process, pid_t pid, bool is_first);
    // A look at the process that is weighed next.
    void found(std::uint64_t process);
    // How much of `wanted_ns` the next of the looks that were found stands for: no more than its
    // share of what is owed. What is left is owed to the next looks. All of it, for a process that
    // has ended.
    std::uint64_t take(std::uint64_t process, std::uint64_t wanted_ns);
    void forget_ended(const ProcessTree& processes);
    void forget_all() { processes_.clear(); }

  private:
    struct Process {
        std::uint64_t cpu_ns = 0;  // by the kernel, at the last note()
        std::uint64_t owed_ns = 0;
        std::uint64_t found = 0;  // looks that are not weighed yet
    };
    std::map<std::uint64_t, Process> processes_;
};

}  // namespace shadowprof
