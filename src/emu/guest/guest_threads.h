// The threads of a guest: sets of registers over one memory, of which one executes at a time. Turns
// are given such that all execute for equally long, and time passes as if they shared a number of
// processors; or a run is the first thread's, and the others are there so that it comes further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "base/cpu_state.h"
#include "emu/guest/sample_end.h"

namespace shadowprof {

class GuestThreads {
  public:
    using Index = std::uint32_t;  // in the order in which they were added
    static constexpr std::size_t max_threads = 1024;

    // How long a thread takes for an instruction, in 1024ths of what is usual. Time is counted in
    // usual instructions.
    using Pace = std::uint32_t;
    static constexpr Pace usual_pace = 1024;
    static constexpr Pace slowest_pace = 64 * usual_pace, fastest_pace = usual_pace / 64;

    GuestThreads() = default;
    // A guest of one thread.
    explicit GuestThreads(const CpuState& cpu, Pace pace = usual_pace) { add(cpu, true, pace); }

    // A thread that runs, from where the current one has come to, or that waits for wake(). Nothing
    // if there are max_threads. The registers of others stay where they are.
    std::optional<Index> add(const CpuState& cpu, bool runs, Pace pace);
    // One that is born of the current thread, and is as fast.
    std::optional<Index> add(const CpuState& cpu, bool runs) {
        return add(cpu, runs, threads_.empty() ? usual_pace : threads_[current_].pace);
    }

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

    // Registers of another thread's code are in no cache and their trace in no order: shorter turns
    // cost time, longer ones make locks look contended that are not.
    static constexpr std::uint64_t mean_turn_instructions = 50'000;

    // Whose run it is.
    enum class Lead : std::uint8_t { all, first };

    struct Run {
        // As long as one processor takes for so many usual instructions; with Lead::first, for so
        // many of the first thread. While that executes, its time alone passes, and when it stops,
        // the run is over. It has every other turn, and the longer ones; the others have all of
        // them while it waits.
        std::uint64_t instructions = 0;
        unsigned processors = 1;
        std::uint64_t seed = 0;
        Lead lead = Lead::all;
        std::uint64_t mean_turn = mean_turn_instructions;
    };

    // For the emulator.
    void begin(const Run& run);
    // Begins the turn of the first thread, if it leads and is due, or else of the one that has come
    // least far, but for one that yields. False if none can go on: end() says why.
    bool next();
    // The current thread has executed so many.
    void ran(std::uint64_t instructions);
    // How many it may execute until others are due, or the run's end is.
    std::uint64_t turn_left() const;
    bool is_turn_over() const;
    // The run's time so far, in usual instructions of one processor; with `more` instructions of
    // the current thread.
    std::uint64_t time(std::uint64_t more = 0) const;
    bool is_time_over() const;
    // Why none can go on: SampleEnd::size if the time is over.
    SampleEnd end() const;
    // The work of the threads that the run belongs to: of all, or of the first.
    struct Done {
        std::uint64_t instructions = 0;
        std::uint64_t time = 0;  // in usual instructions, of all of them together
    };
    const Done& of_lead() const { return of_lead_; }

  private:
    // The work of the other threads does not count, so their turns are short. They need some: the
    // first thread may wait for one of them without a system call, as for a spin lock.
    static constexpr std::uint64_t turns_of_others = 4;  // so many are as long as one of the first

    enum class State : std::uint8_t { runs, waits, stopped };
    struct Thread {
        CpuState cpu;
        State state = State::runs;
        Pace pace = usual_pace;
        std::uint64_t progress = 0;  // in usual instructions
    };

    void set_state(Index index, State state);
    // How many threads execute at the same time.
    std::uint64_t parallel() const;
    // Whether the time of another thread's turn is that of the first one.
    bool is_beside_first() const;
    bool is_first_due() const;
    std::optional<Index> least_far() const;
    // In usual instructions, of the current thread.
    std::uint64_t time_of(std::uint64_t instructions) const {
        return instructions * threads_[current_].pace / usual_pace;
    }

    std::deque<Thread> threads_;  // which do not move when one is added
    Index current_ = 0;
    std::size_t running_ = 0;
    std::uint64_t processors_ = 1;
    std::uint64_t duration_ = 0;   // usual instructions of one processor
    std::uint64_t time_ = 0;       // the same, times `processors_`: that is exact
    std::uint64_t turn_left_ = 0;  // in usual instructions
    std::uint64_t mean_turn_ = mean_turn_instructions;
    Lead lead_ = Lead::all;
    bool others_are_due_ = false;  // with Lead::first
    Done of_lead_;
    bool yielded_ = false;  // the current one does
    std::optional<SampleEnd> last_stop_;
    std::minstd_rand random_;
};

}  // namespace shadowprof
