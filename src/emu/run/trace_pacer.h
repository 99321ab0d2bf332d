// Decides how much of each trace buffer is filled and at which level, so that a run has about the
// requested numbers of instructions: in all, with values, and with references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>

#include "emu/guest/guest_threads.h"
#include "emu/translation/block_tables.h"

namespace shadowprof {

struct RunLimits {
    // The run goes on until something else ends it; without bursts its instructions are not
    // estimated.
    static constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;

    // The run ends at the first block boundary after about this many instructions. With several
    // threads, they are what one of `processors` processors has executed, in usual instructions
    // (GuestThreads::Pace).
    std::uint64_t instructions = 0;
    std::uint32_t processors = 1;
    // GuestThreads::Lead::first: the run ends when the first thread has executed that many.
    bool first_leads = false;
    std::uint64_t mean_turn = GuestThreads::mean_turn_instructions;  // if there are several threads
    bool lasting_threads = false;  // see GuestThreads::Run; no blocks may be limited
    // If not 0, with lasting threads: the run ends behind its first turn, or in it: behind about so
    // many words of the trace, or before what a handler or the hardware has to do. The turn then
    // goes on in the next run as if it had not been cut.
    std::size_t turn_words = 0;
    // With several lasting threads: the run ends where a turn begins or a buffer is full, if it is
    // that late by CLOCK_MONOTONIC. The order of turns does not depend on it.
    static constexpr std::int64_t any_time = std::numeric_limits<std::int64_t>::max();
    std::int64_t until_ns = any_time;
    // At TraceLevel::blocks: the run ends behind exactly so many blocks; 0: no limit.
    std::uint64_t blocks = 0;
    // The first instruction is a block of its own.
    bool one_instruction = false;
    // A period is about `burst_period` instructions. In each period, about `value_instructions` run
    // at TraceLevel::values and about `reference_instructions` at TraceLevel::references, in bursts
    // with equal pauses between them. For either, 0 means none, and a whole period means all. At
    // most one of them may mean all.
    std::uint64_t burst_period = 0;
    std::uint64_t value_instructions = 0;
    std::uint64_t reference_instructions = 0;
    // Used instead if one of the first two is not 0. A burst has about `value_events` at
    // TraceLevel::values or `reference_events` at TraceLevel::references. From one burst to the
    // next one of its kind there are about as many events outside of bursts as the next two say. If
    // these are too few for a buffer, bursts and the pauses between them are longer.
    std::uint64_t value_events = 0;
    std::uint64_t reference_events = 0;
    std::uint64_t events_between_values = 0;
    std::uint64_t events_between_references = 0;
    EventKinds events;
    std::uint64_t seed = 0;
    // Superblocks are found but not made; Emulator::translate_ahead() makes them.
    bool defers_superblocks = false;
    // Each system call is noted in the trace (system_call_note).
    bool notes_system_calls = false;
    // With notes_system_calls: so is what calls return (call_result_note), and which may be begun
    // again (repeated_call_note). For handlers that have calls made by a kernel, and threads that
    // outlive the run.
    bool notes_call_results = false;
    // Where a PythonWatch is given: the Python functions in which threads begin are noted.
    bool notes_script_stacks = true;
    // With Nondeterminism::single_stepped: nondeterministic instructions are executed natively all
    // the same.
    bool executes_nondeterministic = false;
    // Runs at TraceLevel::none: the limits above do not hold, and no instruction is counted.
    bool untraced = false;
};

class TracePacer {
  public:
    TracePacer(const RunLimits& limits, const BlockTables& tables);

    // The level to run at until the next account().
    TraceLevel level() const { return level_; }
    // Chooses the level. Returns how many words of an empty buffer to use, at most `room`, for at
    // most about `most` instructions.
    std::size_t next_words(std::size_t room, std::uint64_t most = RunLimits::unlimited);
    // Counts the trace since next_words().
    void account(std::span<const std::uint64_t> words);

    // Says that records of the current level may now stand for any number of instructions. Only
    // matters at TraceLevel::blocks: longer records of other levels have more words.
    void expect_longer_records() {
        if (level_ == TraceLevel::blocks) block_rate_known_ = false;
    }

    // Instructions so far, estimated from about every eighth record.
    std::uint64_t instructions() const { return instructions_; }
    // As instructions(), with `words` more at the current level.
    std::uint64_t instructions_with(std::uint64_t words) const;
    // About how many instructions the trace stands for, which is of the current level. The same for
    // the same words.
    std::uint64_t estimate(std::span<const std::uint64_t> words) const;
    // How many instructions it stands for. Takes time linear in the number of records.
    std::uint64_t count(std::span<const std::uint64_t> words) const;
    bool finished() const;

  private:
    static constexpr std::size_t levels = 3;  // levels that are counted
    static_assert(static_cast<std::size_t>(TraceLevel::none) == levels);

    bool by_events() const { return limits_.value_events != 0 || limits_.reference_events != 0; }
    // How long a burst at that level should be, in instructions or events. 0: there are no such
    // bursts.
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
    std::uint64_t estimate_events(std::span<const std::uint64_t> words) const;
    template <typename Of>
    std::uint64_t estimated_sum(std::span<const std::uint64_t> words, Of of) const;
    const BlockInfo& row(std::uint64_t word) const { return tables_[static_cast<BlockId>(word)]; }
    std::size_t at_level() const { return static_cast<std::size_t>(level_); }
    double& words_per_instruction() { return words_per_instruction_[at_level()]; }
    // Words per unit of a phase's length, which is in events or in instructions.
    double words_per_unit() const {
        return by_events() ? words_per_event_[at_level()] : words_per_instruction_[at_level()];
    }

    RunLimits limits_;
    const BlockTables& tables_;
    std::minstd_rand random_;
    TraceLevel level_ = TraceLevel::blocks;
    std::uint64_t instructions_ = 0;
    std::uint64_t blocks_ = 0;                    // counted if they are limited
    std::uint64_t phase_left_ = 0;                // instructions or events until the level changes
    std::uint64_t burst_events_ = 0;              // in the last burst
    std::uint64_t burst_words_ = 0;               // in the last burst
    std::uint64_t burst_units_[levels] = {};      // events or instructions so far, by level
    double begun_before_[levels] = {};            // random starting values, in bursts
    std::size_t min_words_;                       // for the next buffer of a burst
    TraceLevel next_ = TraceLevel::blocks;        // level of this phase
    TraceLevel last_burst_ = TraceLevel::blocks;  // the last or current one; blocks: none yet
    bool block_rate_known_ = false;
    std::size_t traced_words_[levels] = {};                   // by level
    double words_per_instruction_[levels] = {0.2, 1.2, 0.6};  // by level; adapts to the trace
    double words_per_event_[levels] = {1, 12, 6};             // by level; adapts to the trace
};

}  // namespace shadowprof
