#include "emu/translation/superblock_finder.h"

#include <algorithm>

namespace shadowprof {
namespace {

// One record in this many is looked at, on average.
constexpr std::uint32_t record_stride = 2048;
// One piece in this many is looked at, of a trace with values.
constexpr std::uint32_t value_pieces = 8;

// A block is hot when it was met this often: making a superblock of 100 instructions takes as long
// as some thousand executions of it save.
constexpr std::uint8_t hot = 3;
// How many superblocks may be made from one block: the first sequence seen need not be the most
// frequent.
constexpr std::uint8_t max_tries = 4;
// After this many records a superblock is judged.
constexpr unsigned trial = 24;

constexpr std::size_t max_blocks_back = 16;
constexpr std::size_t max_parts = 60;
static_assert(max_parts < max_sequence_parts);
// A superblock continues across a backward branch only while it is shorter than this.
constexpr std::uint32_t long_enough_instructions = 128;

}  // namespace

SuperblockFinder::Head& SuperblockFinder::head(BlockId id) {
    if (id >= heads_.size()) heads_.resize(std::max<std::size_t>(id + 1u, 2 * heads_.size()));
    return heads_[id];
}

// At levels with values, finding where records begin costs as much as looking at many of them.
// There, few pieces of the trace are looked at, but more closely.
bool SuperblockFinder::observe(TraceLevel level, std::span<const std::uint64_t> words,
                               bool defers) {
    defers_ = defers;
    if (level == TraceLevel::blocks) return observe_ids(record_stride, words);
    if (random_() % value_pieces != 0) return false;
    collect_ids(words);
    return observe_ids(record_stride / value_pieces, ids_);
}

void SuperblockFinder::collect_ids(std::span<const std::uint64_t> words) {
    ids_.clear();
    for (auto at = words.size(); at > 0;) {
        const auto id = words[at - 1];
        ids_.push_back(id);
        at -= std::min<std::size_t>(at, 1u + row(id).value_words);
    }
    std::reverse(ids_.begin(), ids_.end());
}

bool SuperblockFinder::observe_ids(std::uint32_t stride, std::span<const std::uint64_t> words) {
    bool formed = false;
    for (std::size_t at = random_() % stride; at < words.size(); at += 1 + random_() % (2 * stride))
        formed |= row(words[at]).parts == 0 ? note_block(words, head_of(words, at))
                                            : note_superblock(words, at);
    return formed;
}

// Whether `next` was reached by a backward branch, where paths end.
bool SuperblockFinder::follows_backwards(std::uint64_t word, std::uint64_t next) const {
    const auto& from = row(word);
    return is_jump(from.terminator) && row(next).start <= from.last;
}

// The oldest record of the same path that no superblock separates from `at`.
std::size_t SuperblockFinder::head_of(std::span<const std::uint64_t> words, std::size_t at) const {
    for (std::size_t i = 0; i < max_blocks_back && at + 1 < words.size(); ++i, ++at) {
        const auto older = words[at + 1];
        if (row(older).parts != 0 || follows_backwards(older, words[at])) break;
    }
    return at;
}

bool SuperblockFinder::note_block(std::span<const std::uint64_t> words, std::size_t at) {
    auto& block = head(static_cast<BlockId>(words[at]));
    if (block.is_deferred || block.tries >= max_tries || ++block.heat < hot) return false;
    block.heat = 0;
    return form(words, at);
}

// A superblock that is mostly left in its first half was made from a rare sequence.
bool SuperblockFinder::note_superblock(std::span<const std::uint64_t> words, std::size_t at) {
    const auto& sequence = row(words[at]);
    auto& first = head(tables_.parts_of(sequence)[0]);
    if (first.is_deferred || first.tries >= max_tries) return false;
    ++(2u * sequence.parts <= first.parts ? first.left_early : first.stayed);
    if (first.left_early + first.stayed < trial) return false;
    const bool bad = first.left_early > first.stayed;
    first.left_early = first.stayed = 0;
    if (!bad) {
        first.tries = max_tries;
        return false;
    }
    return form(words, at);
}

bool SuperblockFinder::form(std::span<const std::uint64_t> words, std::size_t at) {
    collect(words, at);
    if (parts_.empty()) return false;
    auto& first = head(parts_[0]);
    ++first.tries;
    if (parts_.size() < 2) return false;
    if (!defers_) return make(parts_);
    first.is_deferred = true;
    deferred_.push_back(parts_);
    return false;
}

bool SuperblockFinder::make(std::span<const BlockId> parts) {
    if (!translator_.form_superblock(parts)) return false;
    head(parts[0]).parts = static_cast<std::uint8_t>(parts.size());
    return true;
}

void SuperblockFinder::make_deferred(const std::function<bool()>& goes_on) {
    for (; !deferred_.empty() && goes_on(); deferred_.pop_front()) {
        head(deferred_.front()[0]).is_deferred = false;
        make(deferred_.front());
    }
}

// Collects the blocks that were executed from `at` on.
void SuperblockFinder::collect(std::span<const std::uint64_t> words, std::size_t at) {
    parts_.clear();
    instructions_ = value_words_ = 0;
    for (++at; at-- > 0;) {
        const auto& next = row(words[at]);
        if (next.parts == 0) {
            if (!append(static_cast<BlockId>(words[at]))) return;
            continue;
        }
        for (auto part : tables_.parts_of(next))
            if (!append(part)) return;
    }
}

// False if the superblock ends before this block, or with it.
bool SuperblockFinder::append(BlockId id) {
    const auto& block = tables_[id];
    if (translator_.is_instrumented(block.start)) return false;
    const bool too_long = parts_.size() == max_parts ||
                          instructions_ + block.instructions > max_instructions ||
                          value_words_ + block.value_words > max_value_words;
    if (!parts_.empty() && (too_long || (instructions_ >= long_enough_instructions &&
                                         follows_backwards(parts_.back(), id))))
        return false;
    parts_.push_back(id);
    instructions_ += block.instructions;
    value_words_ += block.value_words;
    return block.terminator != Terminator::syscall &&
           block.terminator != Terminator::single_stepped;
}

}  // namespace shadowprof
