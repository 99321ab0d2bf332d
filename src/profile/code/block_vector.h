// A sample's basic-block vector (Sherwood, Perelman and Calder, "Basic block distribution analysis
// to find periodic behavior and simulation points", PACT 2001), taken from some of its blocks.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "profile/code/block_registry.h"
#include "profile/statistics/random.h"

namespace shadowprof {

struct BlockVector {
    static constexpr std::size_t buckets = 64;
    // Indexed by bucket.
    using Counts = std::array<std::uint64_t, buckets>;
    using Shares = std::array<double, buckets>;  // their sum is 1

    Counts instructions{};              // instructions of the records looked at
    Counts at_odd_records{};            // the part of `instructions` from every other record
    std::uint32_t sampled_records = 0;  // records looked at

    static std::uint64_t sum(const Counts& counts) {
        return std::reduce(counts.begin(), counts.end());
    }
    // Needs a sum that is not 0.
    static Shares shares_of(const Counts& counts) {
        const auto all = static_cast<double>(sum(counts));
        Shares shares;
        for (std::size_t i = 0; i < buckets; ++i) shares[i] = static_cast<double>(counts[i]) / all;
        return shares;
    }

    // Counts a block. A block has the same bucket in all collectors of a run.
    void add(BlockToken block, std::uint64_t executed) {
        const auto bucket = mix64(block) >> 58;
        instructions[bucket] += executed;
        if (sampled_records % 2 == 1) at_odd_records[bucket] += executed;
        ++sampled_records;
    }
    static_assert(buckets == std::size_t{1} << (64 - 58));
};

// Chooses records of a trace to look at. The distances are random, as programs repeat themselves.
class RecordSampling {
  public:
    // The mean distance, in records.
    static constexpr std::uint64_t period = 128;

    explicit RecordSampling(std::uint64_t seed) : random_(seed) { choose(); }

    // Passes `records` records. Calls on_chosen(i, random) for each one chosen: its index among
    // these records and a random number.
    template <typename OnChosen>
    void pass(std::uint64_t records, OnChosen on_chosen) {
        std::uint64_t at = 0;
        while (records - at > left_) {
            at += left_;
            on_chosen(at++, random_.next());
            choose();
        }
        left_ -= records - at;
    }

  private:
    void choose() { left_ = random_.next() % (2 * period - 1); }

    Random random_;
    std::uint64_t left_ = 0;  // records before the next one
};

}  // namespace shadowprof
