#include "emu/superblock_finder.h"

#include <algorithm>

namespace shadowprof {
namespace {

// On average one record in so many is looked at, while code is young and later.
constexpr std::uint32_t young_stride = 256;
constexpr std::uint32_t old_stride = 2048;
constexpr std::uint64_t young_words = std::uint64_t{1} << 22;

// A block is hot when it was met so often.
constexpr std::uint8_t hot = 3;
constexpr std::uint8_t given_up = 255;

constexpr std::size_t most_blocks_back = 16;
constexpr std::size_t most_parts = 60;
static_assert(most_parts < max_sequence_parts);
// A superblock goes on at a branch backwards as long as it is shorter than this.
constexpr std::uint32_t long_enough_instructions = 128;

}  // namespace

bool SuperblockFinder::observe(std::span<const std::uint64_t> words) {
    const auto stride = words_seen_ < young_words ? young_stride : old_stride;
    words_seen_ += words.size();
    bool formed = false;
    for (std::size_t at = random_() % stride; at < words.size();
         at += 1 + random_() % (2 * stride)) {
        if (row(words[at]).parts == 0) formed |= note(words, head_of(words, at));
    }
    return formed;
}

// Whether `next` was reached by a branch backwards, which is where paths end.
bool SuperblockFinder::follows_backwards(std::uint64_t word, std::uint64_t next) const {
    const auto& from = row(word);
    const bool jump = from.terminator == Terminator::conditional ||
                      from.terminator == Terminator::jump ||
                      from.terminator == Terminator::indirect_jump;
    return jump && row(next).start <= from.last;
}

// The block from which on no superblock was met, within the same path.
std::size_t SuperblockFinder::head_of(std::span<const std::uint64_t> words, std::size_t at) const {
    for (std::size_t i = 0; i < most_blocks_back && at + 1 < words.size(); ++i, ++at) {
        const auto older = words[at + 1];
        if (row(older).parts != 0 || follows_backwards(older, words[at])) break;
    }
    return at;
}

bool SuperblockFinder::note(std::span<const std::uint64_t> words, std::size_t head) {
    const auto id = static_cast<BlockId>(words[head]);
    if (id >= heat_.size()) heat_.resize(std::max<std::size_t>(id + 1u, 2 * heat_.size()));
    auto& heat = heat_[id];
    if (heat == given_up || ++heat < hot) return false;
    collect(words, head);
    heat = given_up;
    return parts_.size() > 1 && translator_.form_superblock(parts_);
}

// What was executed from `head` on.
void SuperblockFinder::collect(std::span<const std::uint64_t> words, std::size_t head) {
    parts_.clear();
    std::uint32_t instructions = 0;
    for (std::size_t at = head + 1; at-- > 0;) {
        const auto& block = row(words[at]);
        if (block.parts != 0 || parts_.size() == most_parts ||
            instructions + block.instructions > most_instructions)
            return;
        if (at != head && follows_backwards(words[at + 1], words[at]) &&
            instructions >= long_enough_instructions)
            return;
        parts_.push_back(static_cast<BlockId>(words[at]));
        instructions += block.instructions;
        if (block.terminator == Terminator::syscall || block.terminator == Terminator::handed_over)
            return;
    }
}

}  // namespace shadowprof
