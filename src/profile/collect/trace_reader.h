// Reads one emulator's trace: turns records into canonical blocks and passes on their values and
// references.
//
// Records are read one by one, values column by column. Records with values are copied to a window
// over the last batches, and their places are noted by id. When the window is full, each slot's
// values are passed on together. So if several slots have values of one site, these do not come in
// the order of execution. References are passed on as they are read, in their order.
//
// All input may be forged, and may change while it is read. So the meaning of an id depends on a
// single reading of its rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emu/trace/trace.h"
#include "profile/code/block_registry.h"
#include "profile/collect/callers.h"
#include "profile/collect/record_follower.h"
#include "profile/collect/record_plans.h"
#include "profile/collect/reference_collector.h"
#include "profile/kinds/paths/path_graph.h"
#include "profile/kinds/values/value_bank.h"

namespace shadowprof {

class TraceReader {
  public:
    // Skips values if `values` is null, references if `references` is null. All arguments must
    // outlive the reader.
    TraceReader(BlockRegistry& registry, BlockView& blocks, ValueBank* values,
                ReferenceCollector* references = nullptr);
    // From now on values are also passed on by caller; null: they are not.
    void set_callers(RecordCallers* callers) { callers_ = callers; }

    // Whether values are passed on from now on; at first they are.
    void keep_values(bool keeps) { keeps_values_ = keeps; }

    // Forgets what ids mean, as the trace comes from another emulator from now on.
    void new_emulator();
    // Begins a sample whose memory layout `resolver` knows.
    void begin(AddressResolver& resolver);

    // The next words are another thread's. A record that is not complete is dropped.
    void cut() {
        left_ = begin_;
        ended_ = true;
        in_references_ = false;
    }

    // To read a batch, call open(), then any of read(), PlainRecords and KnownRecords until
    // at_end().
    void open(std::span<const std::uint64_t> words, const BlockTable& table);
    bool at_end() const { return ended_ || damaged_; }
    // Reads the oldest (last) record; its blocks are among tokens(). Returns nothing if the record
    // goes on in the next batch, there is none, or the trace is damaged(). Needs: not at_end().
    // `place` is where the follower stands before the record; nothing: the record is not followed.
    std::optional<TraceRecord> read(std::optional<RecordFollower::Position> place);

    // Records for RecordFollower::follow(), which passes records that were read() before. skip_to()
    // lets the reader go on after them.
    class PlainRecords;  // records without values, if not copied()
    class KnownRecords;  // any records, if copied(): the current words are in the window
    bool copied() const { return copied_; }
    // The level at which the last record that was read or passed was traced; TraceLevel::blocks:
    // there was none.
    TraceLevel level() const { return level_; }
    // A place in a batch of records without values: differences of places are numbers of records.
    std::size_t place() const { return left_; }
    // The blocks of records with this id. Needs an id that was passed or read since new_emulator().
    std::span<const BlockToken> blocks_of(std::uint32_t id) const {
        const auto& plan = plans_[id];
        return std::span(tokens()).subspan(plan.first_block, plan.blocks);
    }
    // The blocks of the record that lay `records` after `place`. None if the record has changed
    // since. Needs: not copied().
    std::span<const BlockToken> look_back(std::size_t place, std::uint64_t records) const {
        const auto* plan = plans_.find_known(words_[place - 1 - records]);
        if (!plan) return {};
        return std::span(tokens()).subspan(plan->first_block, plan->blocks);
    }
    void skip_to(const PlainRecords& records);
    void skip_to(const KnownRecords& records);

    // Passes on the values that were read so far. Must be called at a sample's end and before the
    // follower forgets.
    void hand_on_values();

    // Grows until new_emulator().
    const std::vector<BlockToken>& tokens() const { return plans_.tokens(); }

    // Whether an implausible id or block was met since begin(). Nothing more is read then.
    bool damaged() const { return damaged_; }

  private:
    // Room for a record and most of a batch at least.
    static constexpr std::size_t window_words = 96 << 10;
    // A record whose values were not passed on yet.
    using Position = RecordFollower::Position;
    static constexpr Position nowhere{~std::uint32_t{0}};
    struct Row {
        std::uint32_t id = 0;      // where its id lies in the window
        Position place = nowhere;  // the follower's place before the record
    };
    // Rows, up to `end`, whose blocks have the same callers.
    struct CallerGroup {
        RecordCallers::List callers = 0;
        bool known = false;
        std::uint32_t end = 0;
    };
    // The number of rows at which they are passed on: what they refer to fits the first-level
    // cache.
    static constexpr std::uint16_t max_rows = 256;
    static constexpr std::uint16_t first_rows = 16;

    // Records of one id that were read and whose values were not passed on yet.
    struct Noted {
        std::uint32_t first_row = 0;  // index in rows_
        std::uint16_t rows = 0;
        std::uint16_t room = 0;   // number of rows that fit; 0: no rows_ yet
        bool references = false;  // references are passed on at once and never noted
    };

    void note_row(std::uint32_t id, Row row) {
        Noted& noted = noted_[id];
        if (noted.references) return hand_on_references(id, row);
        in_references_ = false;
        if (!keeps_values_) return;
        if (noted.rows == noted.room) make_room(id);
        rows_[noted.first_row + noted.rows++] = row;
    }
    void hand_on_references(std::uint32_t id, Row row);
    static constexpr TraceLevel level_of(bool has_values, bool references) {
        if (!has_values) return TraceLevel::blocks;
        return references ? TraceLevel::references : TraceLevel::values;
    }
    void make_room(std::uint32_t id);
    void hand_on_rows(std::uint32_t id);
    void sort_by_caller(std::uint32_t id, const RecordPlan& plan, std::span<Row> rows);
    void find_runs(std::uint32_t block);
    void hand_on_narrow(const SlotPlan& slot, std::size_t distance, std::span<const Row> rows);
    void hand_on_wide(const SlotPlan& slot, std::size_t distance, std::span<const Row> rows);
    TraceRecord pass(std::uint32_t id, const RecordPlan& plan, Position place);
    bool copy_more();
    void start_copying();
    void make_space();

    ValueBank* values_;
    ReferenceCollector* references_;
    RecordCallers* callers_ = nullptr;
    RecordPlans plans_;
    AddressResolver* resolver_ = nullptr;
    const BlockTable* table_ = nullptr;  // the current batch's
    // The words to read, from the end: words_[begin_] to words_[left_ - 1].
    const std::uint64_t* words_ = nullptr;
    std::size_t begin_ = 0, left_ = 0;
    std::span<const std::uint64_t> rest_;   // the part of the batch that is not in the window yet
    std::vector<std::uint64_t> window_;     // filled downwards: older words lie higher
    std::size_t free_ = 0;                  // free words at its beginning
    std::vector<std::uint32_t> lengths_;    // lengths of records in words, by id
    std::vector<Noted> noted_;              // by id
    std::vector<Row> rows_;                 // rows of one id are adjacent
    std::vector<std::uint32_t> noted_ids_;  // ids with rows
    // Groups of the rows being passed on, and runs of one of their blocks. Both are empty without
    // `callers_`.
    std::vector<CallerGroup> groups_;
    std::vector<CallerRun> runs_;
    std::vector<WideValue> wide_column_;  // scratch
    bool copied_ = false;                 // words_ are in the window
    bool in_references_ = false;          // the last record had references
    TraceLevel level_ = TraceLevel::blocks;
    bool ended_ = true;
    bool damaged_ = false;
    bool keeps_values_ = true;
};

class TraceReader::PlainRecords {
  public:
    explicit PlainRecords(const TraceReader& reader)
        : words_(reader.words_), begin_(reader.begin_), left_(reader.left_) {}

    bool at_end() const { return left_ == begin_; }
    std::uint64_t id() const { return words_[left_ - 1]; }
    template <typename Position>
    bool pass(std::uint32_t, bool has_values, Position) {
        if (has_values) return false;
        --left_;
        return true;
    }

  private:
    friend TraceReader;
    const std::uint64_t* words_;
    std::size_t begin_, left_;
};

class TraceReader::KnownRecords {
  public:
    explicit KnownRecords(TraceReader& reader)
        : reader_(&reader),
          words_(reader.words_),
          begin_(reader.begin_),
          left_(reader.left_),
          lengths_(reader.lengths_.data()) {}

    bool at_end() const { return left_ == begin_; }
    std::uint64_t id() const { return words_[left_ - 1]; }
    template <typename Position>
    bool pass(std::uint32_t id, bool has_values, Position place) {
        const std::size_t length = lengths_[id];
        if (length > left_ - begin_) return false;
        if (has_values)
            reader_->note_row(id, {static_cast<std::uint32_t>(left_ - 1), place()});
        else
            reader_->in_references_ = false;
        left_ -= length;
        last_id_ = id;
        last_has_values_ = has_values;
        return true;
    }

  private:
    friend TraceReader;
    TraceReader* reader_;
    const std::uint64_t* words_;
    std::size_t begin_, left_;
    const std::uint32_t* lengths_;
    std::uint32_t last_id_ = 0;
    bool last_has_values_ = false;
};

inline void TraceReader::skip_to(const PlainRecords& records) {
    if (left_ != records.left_) {
        in_references_ = false;
        level_ = TraceLevel::blocks;
    }
    left_ = records.left_;
}

inline void TraceReader::skip_to(const KnownRecords& records) {
    if (left_ != records.left_)
        level_ = level_of(records.last_has_values_, noted_[records.last_id_].references);
    left_ = records.left_;
}

}  // namespace shadowprof
