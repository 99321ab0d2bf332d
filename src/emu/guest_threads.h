// The threads of a guest: sets of registers over one memory, of which one executes at a time. Turns
// are given such that all come equally far, and time passes as if they shared a number of
// processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "base/cpu_state.h"
#include "emu/sample_end.h"

namespace shadowprof {

class GuestThreads {
  public:
    using Index = std::uint32_t;  // in the order in which they were added
    static constexpr std::size_t max_threads = 1024;

    GuestThreads() = default;
    // A guest of one thread.
    explicit GuestThreads(const CpuState& cpu) { add(cpu, true); }

    // A thread that runs, from where the current one has come to, or that waits for wake(). Nothing
    // if there are max_threads. The registers of others stay where they are.
    std::optional<Index> add(const CpuState& cpu, bool runs);

    std::size_t size() const { return threads_.size(); }
    // Whose turn it is. There must be a thread.
    Index current() const { return current_; }
    CpuState& cpu() { return threads_[current_].cpu; }
    CpuState& cpu(Index index) { return threads_[index].cpu; }
    bool waits(Index index) const { return threads_[index].state == State::waits; }
    bool has_others() const { return running_ > (threads_[current_].state == State::runs); }

    // For system calls. The current thread's turn ends behind the call, ...
    void yield() {
        turn_left_ = 0;
        yielded_ = true;
    }
    // ... it executes nothing more before somebody calls wake() for it, ...
    void wait() { set_state(current_, State::waits); }
    // ... or never again. `why`: SampleEnd::exit, or why it comes no further.
    void stop(SampleEnd why);
    // A thread that waits goes on, with this result of its system call.
    void wake(Index index, std::int64_t result);

    // For the emulator. A run begins, which is as long as one processor takes for so many
    // instructions.
    void begin(std::uint64_t instructions, unsigned processors, std::uint64_t seed);
    // Begins the turn of the one that has come least far, but for one that yields. False if none
    // can go on: end() says why.
    bool next();
    // The current thread has executed so many.
    void ran(std::uint64_t instructions);
    // How many it may execute until others are due, or the run's end is.
    std::uint64_t turn_left() const;
    bool is_turn_over() const;
    // The run's time so far, in instructions of one processor; with `more` of the current thread.
    std::uint64_t time(std::uint64_t more = 0) const;
    bool is_time_over() const;
    // Why none can go on: SampleEnd::size if the time is over.
    SampleEnd end() const;

  private:
    // Registers of another thread's code are in no cache and their trace in no order: shorter turns
    // cost time, longer ones make locks look contended that are not.
    static constexpr std::uint64_t mean_turn_instructions = 50'000;

    enum class State : std::uint8_t { runs, waits, stopped };
    struct Thread {
        CpuState cpu;
        State state = State::runs;
        std::uint64_t progress = 0;  // instructions
    };

    void set_state(Index index, State state);
    // How many threads execute at the same time.
    std::uint64_t parallel() const;

    std::deque<Thread> threads_;  // which do not move when one is added
    Index current_ = 0;
    std::size_t running_ = 0;
    std::uint64_t processors_ = 1;
    std::uint64_t duration_ = 0;  // instructions of one processor
    std::uint64_t time_ = 0;      // the same, times `processors_`: that is exact
    std::uint64_t turn_left_ = 0;
    bool yielded_ = false;  // the current one does
    std::optional<SampleEnd> last_stop_;
    std::minstd_rand random_;
};

}  // namespace shadowprof
