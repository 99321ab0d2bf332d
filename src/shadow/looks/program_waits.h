// Where the threads of a run sleep, by looks at them at random moments.
//
// A thread that sleeps needs no stop: the kernel tells its system call, program counter and stack
// pointer, and the stack is read from outside. That counts only if the thread has not run
// meanwhile. Its other registers are not known, so callers are found as far as unwinding needs none
// of them.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/profile.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "shadow/looks/copied_stacks.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

class ProgramWaits {
  public:
    using Clock = std::chrono::steady_clock;

    // `stacks` must outlive it.
    ProgramWaits(CopiedStacks& stacks, std::uint64_t seed) : stacks_(stacks), random_(seed) {}

    // Looks at some threads. To be called at random moments. Takes a few microseconds a thread.
    void look(const ProcessTree& processes, Clock::time_point now);
    // Notes what the last look has seen, which takes longer.
    void note(Clock::time_point now);
    // Forgets the threads. The time until the next look is left out.
    void pause(Clock::time_point now);

    // Adds the waits so far, and counters.
    void fill(Profile& profile) const;

  private:
    using ThreadId = std::pair<std::uint64_t, pid_t>;  // with the process's number
    // See identity(const Wait&).
    using Place = std::tuple<std::string, CodeLocation, std::string, std::vector<CodeLocation>>;
    struct Time {
        std::uint64_t looks = 0, time_ns = 0;
    };
    struct Thread {
        std::optional<ThreadRuns> runs = {};  // at the last look
        Time* wait = nullptr;                 // where it slept then, if it did
    };
    struct Seen {
        ThreadId id;
        CopiedStacks::Owner owner;
        SleepingThread sleep;
        std::uint64_t time_ns = 0;  // that the look stands for
    };
    // How many threads are asked in a look. Each may have to be unwound.
    static constexpr std::size_t max_threads_asked = 8;

    void look_at(Target& target, ThreadId id, std::uint64_t time_ns);
    void note(const Seen& seen, const StackCopy& stack, Clock::time_point now);

    CopiedStacks& stacks_;
    std::mt19937_64 random_;
    std::map<ThreadId, Thread> threads_;
    std::vector<Seen> seen_;                           // in the last look, not noted yet
    std::array<StackCopy, max_threads_asked> copies_;  // of their stacks
    std::map<Place, Time> waits_;
    Clock::time_point last_;
    std::uint64_t ready_ns_ = 0;
    std::uint64_t lost_ = 0;  // looks at a thread in an unknown place, or for lack of room
};

}  // namespace shadowprof
