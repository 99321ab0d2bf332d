// What a sample executed, in a few numbers: its basic-block vector (Sherwood, Perelman and Calder,
// "Basic block distribution analysis to find periodic behavior and simulation points", PACT 2001),
// from some of its blocks.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "profile/code/block_registry.h"
#include "profile/statistics/random.h"

namespace shadowprof {

struct BlockVector {
    static constexpr std::size_t buckets = 64;
    // Both by bucket.
    using Counts = std::array<std::uint64_t, buckets>;
    using Shares = std::array<double, buckets>;  // their sum is 1

    Counts instructions{};    // of the records looked at
    Counts at_odd_looks{};    // of these, in every other record
    std::uint32_t looks = 0;  // records looked at

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

    // The same for a block in all collectors of a run.
    void add(BlockToken block, std::uint64_t executed) {
        const auto bucket = mix64(block) >> 58;
        instructions[bucket] += executed;
        if (looks % 2 == 1) at_odd_looks[bucket] += executed;
        ++looks;
    }
    static_assert(buckets == std::size_t{1} << (64 - 58));
};

// Which records of a trace are looked at: at random distances, as programs repeat themselves.
class RecordLooks {
  public:
    // One in so many, on average.
    static constexpr std::uint64_t period = 128;

    explicit RecordLooks(std::uint64_t seed) : random_(seed) { choose(); }

    // `records` were passed. Calls look(i, random) for those to be looked at: how many came before
    // them of these, and a random number.
    template <typename Look>
    void pass(std::uint64_t records, Look look) {
        std::uint64_t at = 0;
        while (records - at > left_) {
            at += left_;
            look(at++, random_.next());
            choose();
        }
        left_ -= records - at;
    }

  private:
    void choose() { left_ = random_.next() % (2 * period - 1); }

    Random random_;
    std::uint64_t left_ = 0;  // before the next one
};

}  // namespace shadowprof
