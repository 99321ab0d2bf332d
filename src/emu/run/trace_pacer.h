// Decides how much of each trace buffer is filled and at which level, so that a run has about as
// many instructions, and as many of them with values and with references, as it should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "emu/guest/guest_threads.h"
#include "emu/translation/block_tables.h"

namespace shadowprof {

struct RunLimits {
    // Runs until something else ends it; without bursts its instructions are not estimated.
    static constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;

    // The run ends at the first block boundary where about this many instructions have run; of
    // several threads, where that is what one processor of `processors` has executed, in usual
    // instructions (GuestThreads::Pace).
    std::uint64_t instructions = 0;
    std::uint32_t processors = 1;
    // GuestThreads::Lead::first: the run ends where the first thread has executed that.
    bool first_leads = false;
    std::uint64_t mean_turn = GuestThreads::mean_turn_instructions;  // of one of several threads
    // At TraceLevel::blocks: the run ends behind exactly so many blocks; 0: whenever it does.
    std::uint64_t blocks = 0;
    // The first instruction is a block of its own.
    bool one_instruction = false;
    // A period is about `burst_period` instructions. In each, about `value_instructions` run at
    // TraceLevel::values and about `reference_instructions` at TraceLevel::references, in bursts
    // with equal pauses between them. Of these two, 0 means none, and as many as the period means
    // all. Only one of them may mean all.
    std::uint64_t burst_period = 0;
    std::uint64_t value_instructions = 0;
    std::uint64_t reference_instructions = 0;
    // Instead of that, if one of the first two is not 0: about so many events run at
    // TraceLevel::values, and about so many at TraceLevel::references; from one such burst to the
    // next of its kind about so many are not in bursts as the next two say. Where that few are not
    // worth a buffer, there are more of all.
    std::uint64_t value_events = 0;
    std::uint64_t reference_events = 0;
    std::uint64_t events_between_values = 0;
    std::uint64_t events_between_references = 0;
    EventKinds events;
    std::uint64_t seed = 0;
    // Superblocks are found but not made: Emulator::translate_ahead() does that.
    bool defers_superblocks = false;
    // Each system call is noted in the trace (system_call_note).
    bool notes_system_calls = false;
    // Runs at TraceLevel::none: the limits above do not hold, and no instruction is counted.
    bool untraced = false;
};

class TracePacer {
  public:
    TracePacer(const RunLimits& limits, const BlockTables& tables);

    // At which level to run until the next account().
    TraceLevel level() const { return level_; }
    // How many words of an empty buffer to use, for about as many instructions as `most` at most:
    // not more than `room`. Chooses the level.
    std::size_t next_words(std::size_t room, std::uint64_t most = RunLimits::unlimited);
    // Counts what was traced since next_words().
    void account(std::span<const std::uint64_t> words);

    // From now on, records of the current level may stand for any number of instructions. Those
    // with words behind the id have the more of them then.
    void expect_longer_records() {
        if (level_ == TraceLevel::blocks) block_rate_known_ = false;
    }

    // Instructions so far, estimated from about every eighth record.
    std::uint64_t instructions() const { return instructions_; }
    // The same, with `words` more at the current level.
    std::uint64_t instructions_with(std::uint64_t words) const;
    bool finished() const;

  private:
    static constexpr std::size_t levels = 3;  // those that are counted
    static_assert(static_cast<std::size_t>(TraceLevel::none) == levels);

    bool by_events() const { return limits_.value_events != 0 || limits_.reference_events != 0; }
    // How long a burst at that level should be: instructions or events. 0: there are none.
    std::uint64_t burst_length(TraceLevel level) const;
    // How many events are between two bursts of that level.
    double events_between(TraceLevel level) const;
    unsigned kinds_of_bursts() const;
    TraceLevel other_burst(TraceLevel level) const;
    TraceLevel due_burst() const;
    bool never_pauses() const;
    bool is_paced() const;
    double random_part();
    std::uint64_t jittered(std::uint64_t units);
    void begin_phase();
    std::uint64_t next_phase();
    std::uint64_t pause() const;
    std::uint64_t event_pause() const;
    void account_events(std::span<const std::uint64_t> words);
    std::uint64_t estimate(std::span<const std::uint64_t> words) const;
    std::uint64_t estimate_events(std::span<const std::uint64_t> words) const;
    template <typename Of>
    std::uint64_t estimated_sum(std::span<const std::uint64_t> words, Of of) const;
    const BlockInfo& row(std::uint64_t word) const { return tables_[static_cast<BlockId>(word)]; }
    std::size_t at_level() const { return static_cast<std::size_t>(level_); }
    double& words_per_instruction() { return words_per_instruction_[at_level()]; }
    // The length of a phase is in these units: events, or else instructions.
    double words_per_unit() const {
        return by_events() ? words_per_event_[at_level()] : words_per_instruction_[at_level()];
    }

    RunLimits limits_;
    const BlockTables& tables_;
    std::minstd_rand random_;
    TraceLevel level_ = TraceLevel::blocks;
    std::uint64_t instructions_ = 0;
    std::uint64_t blocks_ = 0;                    // counted where they are limited
    std::uint64_t phase_left_ = 0;                // instructions or events until the level changes
    std::uint64_t burst_events_ = 0;              // that the last burst had
    std::uint64_t burst_words_ = 0;               // the same
    std::uint64_t burst_units_[levels] = {};      // events or instructions so far, by level
    double begun_before_[levels] = {};            // parts of bursts, as if there had been some
    std::size_t least_words_;                     // of the next buffer of a burst
    TraceLevel next_ = TraceLevel::blocks;        // of this phase
    TraceLevel last_burst_ = TraceLevel::blocks;  // or the one that is under way; blocks: none yet
    bool block_rate_known_ = false;
    std::size_t traced_words_[levels] = {};                   // by level
    double words_per_instruction_[levels] = {0.2, 1.2, 0.6};  // by level; follows what is seen
    double words_per_event_[levels] = {1, 12, 6};             // the same
};

}  // namespace shadowprof
