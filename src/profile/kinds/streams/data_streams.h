// Hot data streams: sequences of references, each an instruction and an address, that repeat;
// Chilimbi and Hirzel, PLDI 2002, and spec/metrics.md. Heat is length times occurrences.
//
// A stream must be the same in a sample as in the whole run. The rules that Sequitur makes of
// references are not (docs/architecture/collectors.md has what was tried). So the sequence is first
// cut into pieces at places that depend on nothing but the references nearby
// (profile/collect/reference_cuts.h), and the grammar is made of pieces. A rule that repeats
// itself, or a part of it, is a cycle: its shortest period, beginning with the piece whose hash is
// least, counts as a stream as often as it occurs. All other pieces are streams of their own. What
// is too cold or too long is cut further (profile/kinds/streams/stream_table.h).
//
// References before the first and behind the last cut of a burst are in no stream.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/collect/reference.h"
#include "profile/collect/reference_cuts.h"
#include "profile/kinds/streams/sequitur.h"
#include "profile/kinds/streams/stream_table.h"

namespace shadowprof {

// The data streams of one collector. Space is constant: a grammar that is full is counted and begun
// anew.
class DataStreams {
  public:
    // A grammar with so many pieces or references is full.
    static constexpr std::size_t most_pieces = 1 << 14, most_references = 1 << 18;
    // Longer ones are in no stream; there hardly are any.
    static constexpr std::size_t longest_piece = 1 << 10;

    explicit DataStreams(const StreamLimits& limits) : limits_(limits), table_(limits) {}

    // What comes next does not follow what came last.
    void begin_burst();
    // From now on everything counts so often.
    void set_weight(std::uint64_t weight);
    // Accesses, in the order of execution. `at` is where its instruction is.
    void take(const Reference& reference, CodeLocation at) {
        buffer_.push_back({at, reference.address});
        keys_.push_back(cut_key(at, reference.address));
        references_ += weight_;
        if (buffer_.size() == buffer_size) look_for_cuts(false);
    }
    // Counts what was taken so far, as if a burst ended here.
    void finish();

    const StreamLimits& limits() const { return limits_; }
    // Needs finish().
    const StreamTable& table() const { return table_; }
    // All that were taken, weighted.
    std::uint64_t references() const { return references_; }

  private:
    static constexpr std::size_t buffer_size = 8 << 10;

    struct Piece {
        std::size_t begin = 0;  // in piece_references_
        std::size_t length = 0;
        std::uint64_t hash = 0;
        std::uint64_t occurrences = 0;  // outside of cycles
    };
    // A rule's place in the grammar, and what is known of what it stands for.
    struct RuleUse {
        std::uint64_t references = 0, pieces = 0;  // of one use
        std::uint64_t uses = 0, uses_outside = 0;  // in all; not within a cycle
    };
    using Pieces = std::vector<std::uint32_t>;

    void look_for_cuts(bool burst_ends);
    void cut_before(std::size_t at);
    void drop_up_to(std::size_t at);
    std::uint32_t number_of_piece(std::size_t begin, std::size_t length);
    void end_grammar();
    std::vector<RuleUse> rule_uses(const Sequitur::Grammar& grammar) const;
    bool count_cycle(const Sequitur::Grammar& grammar, std::size_t rule, const RuleUse& use);
    void count_cycle(std::span<const std::uint32_t> period, std::uint64_t occurrences);
    void turn_to_least(Pieces& period) const;

    const StreamLimits limits_;
    StreamTable table_;
    std::uint64_t weight_ = 1;
    std::uint64_t references_ = 0;

    // This is what is kept of the burst, from what is still needed on. The lists are indexed by
    // reference.
    std::vector<DataReference> buffer_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint8_t> cuts_;  // as far as they are known
    std::optional<std::size_t> piece_begin_;

    // This is the grammar and what belongs to it.
    Sequitur grammar_;
    std::vector<Piece> pieces_;  // by terminal
    std::vector<DataReference> piece_references_;
    std::vector<std::uint8_t> piece_cuts_;
    IndexTable index_;
};

}  // namespace shadowprof
