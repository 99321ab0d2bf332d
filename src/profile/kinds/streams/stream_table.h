// Counts occurrences of sequences of references in constant space and finds the hot ones.
//
// Sequences know where they may be cut (profile/collect/reference_cuts.h). A sequence that is too
// cold or too long is cut at the highest cuts within it, and its parts inherit its occurrences. So
// each occurrence of a reference counts in at most one stream, the longest hot one. This is the
// analysis of Chilimbi and Hirzel, "Dynamic hot data stream prefetching for general-purpose
// programs" (PLDI 2002), section 3, from the start rule downwards, with cuts instead of rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/kinds/streams/stream_limits.h"
#include "profile/profile.h"

namespace shadowprof {

class StreamTable {
  public:
    // If there are more, the coldest are cut, and those that cannot be cut are dropped.
    static constexpr std::size_t max_candidates = 1 << 13;

    explicit StreamTable(const StreamLimits& limits) : limits_(limits) {}

    // `cuts` has the height of the cut before each reference; the first does not matter.
    void add(std::span<const DataReference> references, std::span<const std::uint8_t> cuts,
             std::uint64_t occurrences);
    void add(const StreamTable& other);

    // Returns the streams with at least this heat and this many occurrences, hottest first. Removes
    // all others from the table.
    std::vector<DataStream> take_streams(std::uint64_t min_heat, std::uint64_t min_occurrences = 1);
    // The number of references that were dropped because there were too many candidates.
    std::uint64_t left_out() const { return left_out_; }

  private:
    struct Candidate {
        std::vector<DataReference> references;
        std::vector<std::uint8_t> cuts;
        std::uint64_t hash = 0;
        std::uint64_t occurrences = 0;

        std::uint64_t heat() const { return references.size() * occurrences; }
    };
    using Numbers = std::vector<std::uint32_t>;

    std::uint32_t find_or_add(std::span<const DataReference> references,
                              std::span<const std::uint8_t> cuts);
    void make_room();
    std::uint64_t keep(std::uint64_t min_heat, std::uint64_t min_occurrences);
    std::uint64_t cut(std::uint32_t number, std::vector<Numbers>& by_length);
    void forget_those_without_occurrences();

    StreamLimits limits_;
    std::vector<Candidate> candidates_;
    IndexTable index_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
