// Hot data streams: repeated sequences of references, each an instruction and an address. See
// Chilimbi and Hirzel, PLDI 2002, and spec/metrics.md. Heat is length times occurrences.
//
// A stream must be the same in a sample as in the whole run, which Sequitur's rules over references
// are not (docs/architecture/collectors.md tells what was tried). So the sequence is first cut into
// pieces at places that depend only on the references nearby (profile/collect/reference_cuts.h),
// and the grammar is made of pieces. A rule that repeats itself or a part of itself is a cycle. Its
// shortest period, turned so that it begins with the piece of the least hash, counts as a stream as
// often as it occurs. All other pieces are streams of their own. Streams that are too cold or too
// long are cut further (profile/kinds/streams/stream_table.h).
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

// The data streams of one collector, in constant space: a full grammar is counted and cleared.
class DataStreams {
  public:
    // Limits of a grammar.
    static constexpr std::size_t max_pieces = 1 << 14, max_references = 1 << 18;
    // Longer pieces, which are rare, are in no stream.
    static constexpr std::size_t longest_piece = 1 << 10;

    explicit DataStreams(const StreamLimits& limits) : limits_(limits), table_(limits) {}

    // The next reference does not follow the last one.
    void begin_burst();
    // From now on everything counts `weight` times.
    void set_weight(std::uint64_t weight);
    // Takes an access by the instruction at `at`. Accesses come in the order of execution.
    void take(const Reference& reference, CodeLocation at) {
        buffer_.push_back({at, reference.address});
        keys_.push_back(cut_key(at, reference.address));
        references_ += weight_;
        if (buffer_.size() == buffer_size) find_cuts(false);
    }
    // Counts what was taken so far, as if a burst ended here.
    void finish();

    const StreamLimits& limits() const { return limits_; }
    // Needs finish().
    const StreamTable& table() const { return table_; }
    // The number of references taken, weighted.
    std::uint64_t references() const { return references_; }

  private:
    static constexpr std::size_t buffer_size = 8 << 10;

    struct Piece {
        std::size_t begin = 0;  // index in piece_references_
        std::size_t length = 0;
        std::uint64_t hash = 0;
        std::uint64_t occurrences = 0;  // outside of cycles
    };
    // A rule's uses in the grammar, and the length of what it stands for.
    struct RuleUse {
        std::uint64_t references = 0, pieces = 0;  // in one use
        std::uint64_t uses = 0, uses_outside = 0;  // all uses; those not within a cycle
    };
    using Pieces = std::vector<std::uint32_t>;

    void find_cuts(bool burst_ends);
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

    // The part of the burst that is still needed. The lists are indexed by reference.
    std::vector<DataReference> buffer_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::uint8_t> cuts_;  // as far as they are known
    std::optional<std::size_t> piece_begin_;

    // The grammar and the pieces that are its terminals.
    Sequitur grammar_;
    std::vector<Piece> pieces_;  // by terminal
    std::vector<DataReference> piece_references_;
    std::vector<std::uint8_t> piece_cuts_;
    IndexTable index_;
};

}  // namespace shadowprof
