// The threads of a guest: sets of registers over one memory, of which one executes at a time. Turns
// are chosen so that all threads execute for equally long, and time passes as if they shared a
// number of processors. Alternatively a run belongs to the first thread, and the others only help
// it to come further.
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
    using Index = std::uint32_t;  // index in the order of addition
    static constexpr std::size_t max_threads = 1024;

    // How long a thread takes for an instruction, in 1024ths of the usual time. Time is counted in
    // usual instructions.
    using Pace = std::uint32_t;
    static constexpr Pace usual_pace = 1024;
    static constexpr Pace slowest_pace = 64 * usual_pace, fastest_pace = usual_pace / 64;

    enum class State : std::uint32_t {
        runs,
        waits,    // for wake()
        in_call,  // the same: the kernel makes a call of it, which ends at any time
        stopped,  // executes nothing more
        calls,    // between two runs: it stands behind a system call that is still to be made
    };

    GuestThreads() = default;
    // A guest of one thread.
    explicit GuestThreads(const CpuState& cpu, Pace pace = usual_pace) { add(cpu, true, pace); }

    // Adds a thread that runs, with the current thread's progress, or that waits for wake().
    // Nothing if there are max_threads already. References to the registers of other threads stay
    // valid. If threads last, the new one takes the place of one that has stopped.
    std::optional<Index> add(const CpuState& cpu, State state, Pace pace);
    std::optional<Index> add(const CpuState& cpu, bool runs, Pace pace) {
        return add(cpu, runs ? State::runs : State::waits, pace);
    }
    // Adds a child of the current thread, with the same pace.
    std::optional<Index> add(const CpuState& cpu, bool runs) {
        return add(cpu, runs, threads_.empty() ? usual_pace : threads_[current_].pace);
    }

    // Gives a thread other registers and another state.
    void put(Index index, const CpuState& cpu, State state) {
        threads_[index].cpu = cpu;
        set_state(index, state);
    }

    std::size_t size() const { return threads_.size(); }
    // The thread whose turn it is. There must be a thread.
    Index current() const { return current_; }
    CpuState& cpu() { return threads_[current_].cpu; }
    CpuState& cpu(Index index) { return threads_[index].cpu; }
    Pace pace(Index index) const { return threads_[index].pace; }
    State state(Index index) const { return threads_[index].state; }
    // Tells apart threads that have had the same index.
    std::uint64_t birth(Index index) const { return threads_[index].birth; }
    bool waits(Index index) const { return state(index) == State::waits; }
    bool has_others() const { return running_ > (threads_[current_].state == State::runs); }
    bool runs_any() const { return running_ != 0; }
    // Whether turns end although no other thread runs, as some thread waits for a time.
    void await_time(bool awaits) { awaits_time_ = awaits; }
    // Whether a call that the kernel makes may end at any time.
    bool has_calls() const { return in_call_ != 0; }

    // For system calls: ends the current thread's turn behind the call, if others may have one.
    void yield() {
        if (!is_awaited()) return;
        turn_left_ = 0;
        yielded_ = true;
    }
    // The current thread executes nothing more until wake() is called for it.
    void wait() { set_state(current_, State::waits); }
    // The same, until the kernel has made the current thread's call.
    void enter_call() { set_state(current_, State::in_call); }
    // The current thread executes nothing more. `why` is SampleEnd::exit, or the reason why it
    // cannot go on.
    void stop(SampleEnd why);
    // Lets a waiting thread go on, with this result of its system call.
    void wake(Index index, std::int64_t result);

    // Each turn starts with cold caches for the thread's code and its trace. Shorter turns cost
    // time, longer ones make locks look contended that are not.
    static constexpr std::uint64_t mean_turn_instructions = 50'000;

    // Which threads a run belongs to.
    enum class Lead : std::uint8_t { all, first };

    struct Run {
        // The time that one processor takes for so many usual instructions; with Lead::first, for
        // so many of the first thread. While the first thread executes, only its time passes, and
        // when it stops, the run is over. It has every second turn, and the longer ones; while it
        // waits, the others have all turns.
        std::uint64_t instructions = 0;
        unsigned processors = 1;
        std::uint64_t seed = 0;
        Lead lead = Lead::all;
        std::uint64_t mean_turn = mean_turn_instructions;
        // The threads outlive the run: they go on in the next one with lasting threads where they
        // were, in the midst of a turn. Needs Lead::all, one processor, and threads of the usual
        // pace.
        bool lasting_threads = false;
    };

    // Called by the emulator only.
    void begin(const Run& run);
    // Begins the turn of the first thread if it leads and is due, else of the thread with the least
    // progress; a thread that yielded comes last. False if no thread can go on: end() says why.
    bool next();
    // Whether next() would go on with the current thread's turn, as only threads that last do.
    bool is_in_turn() const { return is_in_turn_ && !yielded_ && !is_turn_over(); }
    // Notes that the current thread has executed so many instructions.
    void ran(std::uint64_t instructions);
    // Whether turns end by what ran() is told although time does not end the run.
    bool counts_turns() const { return lasting_ && (threads_.size() > 1 || awaits_time_); }
    // How many instructions the current thread may execute until other threads are due or the run
    // ends.
    std::uint64_t turn_left() const;
    bool is_turn_over() const;
    // The run's time so far, in usual instructions of one processor, as if the current thread had
    // executed `more` instructions.
    std::uint64_t time(std::uint64_t more = 0) const;
    bool is_time_over() const;
    // Why no thread can go on: SampleEnd::size if the time is over.
    SampleEnd end() const;
    // The work of the threads that the run belongs to: all of them, or the first.
    struct Done {
        std::uint64_t instructions = 0;
        std::uint64_t time = 0;  // in usual instructions, summed over the threads
    };
    const Done& of_lead() const { return of_lead_; }

  private:
    // The work of the other threads does not count, so their turns are shorter, by this factor.
    // They need turns: the first thread may wait for one of them without a system call, as for a
    // spin lock.
    static constexpr std::uint64_t turns_of_others = 4;

    struct Thread {
        CpuState cpu;
        State state = State::runs;
        Pace pace = usual_pace;
        std::uint64_t progress = 0;  // in usual instructions
        std::uint64_t birth = 0;
    };

    void set_state(Index index, State state);
    void begin_turn(std::uint64_t mean);
    bool is_awaited() const { return has_others() || has_calls() || awaits_time_; }
    // How many threads execute at the same time.
    std::uint64_t parallel() const;
    // Whether the current thread executes during the first one's time, which counts already.
    bool is_beside_first() const;
    bool is_first_due() const;
    std::optional<Index> min_far() const;
    // Time of the current thread, in usual instructions.
    std::uint64_t time_of(std::uint64_t instructions) const {
        return instructions * threads_[current_].pace / usual_pace;
    }

    std::deque<Thread> threads_;  // a deque, as threads must not move when one is added
    Index current_ = 0;
    std::size_t running_ = 0;
    std::uint64_t births_ = 0;
    std::size_t in_call_ = 0;
    bool lasting_ = false;
    bool awaits_time_ = false;
    bool is_in_turn_ = false;  // if threads last: the turn of `current_` is not over
    std::uint64_t processors_ = 1;
    std::uint64_t duration_ = 0;   // in usual instructions of one processor
    std::uint64_t time_ = 0;       // in the same unit times `processors_`, so that it is exact
    std::uint64_t turn_left_ = 0;  // in usual instructions
    std::uint64_t mean_turn_ = mean_turn_instructions;
    Lead lead_ = Lead::all;
    bool others_are_due_ = false;  // with Lead::first
    Done of_lead_;
    bool yielded_ = false;  // whether the current thread yielded
    std::optional<SampleEnd> last_stop_;
    std::minstd_rand random_;
};

}  // namespace shadowprof
