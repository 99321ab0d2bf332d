// Records for RecordFollower::follow() that note the ids of those that are passed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shadowprof {

// Wraps TraceReader::PlainRecords or KnownRecords.
template <typename Records>
class NotedRecords {
  public:
    // As many ids as are noted in one go.
    using Room = std::array<std::uint32_t, 512>;

    // `room` must outlive it.
    NotedRecords(Records records, Room& room)
        : records_(records), first_(room.data()), next_(first_), end_(first_ + room.size()) {}

    bool at_end() const { return next_ == end_ || records_.at_end(); }
    std::uint64_t id() const { return records_.id(); }
    template <typename Position>
    bool pass(std::uint32_t id, bool has_values, Position place) {
        if (!records_.pass(id, has_values, place)) return false;
        *next_++ = id;
        return true;
    }

    // The ids of the records that were passed, the oldest first.
    std::span<const std::uint32_t> ids() const { return {first_, next_}; }
    bool is_full() const { return next_ == end_; }
    const Records& records() const { return records_; }

  private:
    Records records_;
    std::uint32_t *first_, *next_, *end_;
};

}  // namespace shadowprof
