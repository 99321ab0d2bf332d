// Finds blocks that often follow each other in the trace that was just written, and has them
// translated as superblocks. A superblock is the next executing tail of a hot block, as in
// Duesterwald and Bala, "Software profiling for hot path prediction: less is more" (ASPLOS 2000),
// but sampled.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "emu/translation/block_tables.h"
#include "emu/translation/translator.h"

namespace shadowprof {

class SuperblockFinder {
  public:
    SuperblockFinder(Translator& translator, const BlockTables& tables)
        : translator_(translator), tables_(tables) {}

    static constexpr std::uint32_t max_instructions = 256;  // the most in a superblock
    static constexpr std::uint32_t max_value_words = 512;   // the most in a superblock

    // Looks at whole records of one level, newest first. Translated code must not be running. True
    // if there are new superblocks. If `defers`, they are left to make_deferred().
    bool observe(TraceLevel level, std::span<const std::uint64_t> words, bool defers = false);
    // Forgets what was looked at.
    void forget() {
        heads_.clear();
        deferred_.clear();
        random_ = {};
    }
    // Makes the deferred superblocks as long as `goes_on` returns true.
    void make_deferred(const std::function<bool()>& goes_on);

  private:
    // What is known about a block that superblocks could start with.
    struct Head {
        std::uint8_t heat = 0;   // how often it was met
        std::uint8_t tries = 0;  // superblocks that were made or failed
        std::uint8_t parts = 0;  // parts of its superblock; 0 if it has none
        std::uint8_t left_early = 0, stayed = 0;
        bool is_deferred = false;
    };

    const BlockInfo& row(std::uint64_t word) const { return tables_[static_cast<BlockId>(word)]; }
    bool observe_ids(std::uint32_t stride, std::span<const std::uint64_t> ids);
    void collect_ids(std::span<const std::uint64_t> words);
    Head& head(BlockId id);
    bool follows_backwards(std::uint64_t word, std::uint64_t next) const;
    std::size_t head_of(std::span<const std::uint64_t> words, std::size_t at) const;
    bool note_block(std::span<const std::uint64_t> words, std::size_t at);
    bool note_superblock(std::span<const std::uint64_t> words, std::size_t at);
    bool form(std::span<const std::uint64_t> words, std::size_t at);
    bool make(std::span<const BlockId> parts);
    void collect(std::span<const std::uint64_t> words, std::size_t at);
    bool append(BlockId id);

    Translator& translator_;
    const BlockTables& tables_;
    std::minstd_rand random_;
    std::vector<std::uint64_t> ids_;  // ids of the records that are looked at, newest first
    std::vector<Head> heads_;         // indexed by block id
    std::vector<BlockId> parts_;
    bool defers_ = false;
    std::deque<std::vector<BlockId>> deferred_;
    std::uint32_t instructions_ = 0, value_words_ = 0;  // sums over parts_
};

}  // namespace shadowprof
