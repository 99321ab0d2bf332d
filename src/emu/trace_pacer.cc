#include "emu/trace_pacer.h"

#include <algorithm>

#include "emu/superblock_finder.h"

namespace shadowprof {
namespace {

constexpr std::size_t stride = 8;  // on average
// At TraceLevel::values, of a long trace as much as this and every eighth word is looked at.
constexpr std::size_t enough_value_words = 4096;
// The longest record at TraceLevel::values must fit.
constexpr std::size_t least_value_words = 4096;
constexpr std::size_t first_words = 512;
constexpr std::size_t growth = 4;

}  // namespace

TracePacer::TracePacer(const RunLimits& limits, const BlockTables& tables)
    : limits_(limits),
      tables_(tables),
      random_(static_cast<std::minstd_rand::result_type>(limits.seed)) {
    if (limits_.untraced) {
        level_ = TraceLevel::none;
        return;
    }
    // The first phase is a part of a whole one, so that periods do not align with samples.
    if (limits_.value_instructions == 0) {
        phase_left_ = limits_.instructions;
    } else if (limits_.value_instructions >= limits_.value_period) {
        values_next_ = true;
        phase_left_ = limits_.instructions;
    } else {
        phase_left_ = 1 + random_() % limits_.value_period;
    }
}

bool TracePacer::finished() const {
    if (limits_.untraced) return false;
    if (limits_.blocks != 0 && blocks_ >= limits_.blocks) return true;
    const auto close_enough = std::max<std::uint64_t>(16, limits_.instructions / 1024);
    return instructions_ + close_enough >= limits_.instructions;
}

// Half to one and a half times `instructions`.
std::uint64_t TracePacer::jittered(std::uint64_t instructions) {
    return instructions / 2 + random_() % (instructions + 1);
}

std::size_t TracePacer::next_words(std::size_t room) {
    if (limits_.untraced) return room;
    if (phase_left_ == 0) {
        const bool always = limits_.value_instructions >= limits_.value_period;
        values_next_ = limits_.value_instructions != 0 && (always || !values_next_);
        phase_left_ = values_next_ ? jittered(limits_.value_instructions)
                                   : jittered(std::max<std::uint64_t>(
                                         1, limits_.value_period - limits_.value_instructions));
        phase_left_ = std::max<std::uint64_t>(1, phase_left_);
    }
    level_ = values_next_ ? TraceLevel::values : TraceLevel::blocks;
    if (limits_.blocks != 0) return std::min<std::size_t>(room, limits_.blocks - blocks_);
    if (limits_.instructions >= RunLimits::unlimited) return room;
    const auto left = limits_.instructions - std::min(instructions_, limits_.instructions);
    const auto wanted = static_cast<double>(std::min(phase_left_, left)) * words_per_instruction();
    if (level_ == TraceLevel::blocks && !block_rate_known_) {
        const auto safe = std::min(phase_left_, left) / SuperblockFinder::most_instructions;
        return std::clamp<std::size_t>(safe, 1, room);
    }
    // Until its rate is known, a level gets ever larger parts.
    auto& traced = traced_words_[level_ == TraceLevel::values];
    const auto most_words = std::min<std::size_t>(room, first_words + growth * traced);
    const auto least = level_ == TraceLevel::values ? least_value_words : std::size_t{1};
    return std::min(std::max(most_words, least),
                    std::max(least, static_cast<std::size_t>(std::min(wanted, 1e12))));
}

void TracePacer::account(std::span<const std::uint64_t> words) {
    if (limits_.untraced) return;
    blocks_ += words.size();
    if (limits_.instructions >= RunLimits::unlimited) return;
    const auto count = estimate(words);
    traced_words_[level_ == TraceLevel::values] += words.size();
    if (level_ == TraceLevel::blocks) block_rate_known_ = true;
    instructions_ += count;
    phase_left_ -= std::min(phase_left_, std::max<std::uint64_t>(count, 1));
    if (count)
        words_per_instruction() = static_cast<double>(words.size()) / static_cast<double>(count);
    // What is left of a phase must be worth a buffer of its own.
    if (phase_left_ < 64) phase_left_ = 0;
}

std::uint64_t TracePacer::instructions_with(std::uint64_t words) const {
    const auto rate = words_per_instruction_[level_ == TraceLevel::values];
    return instructions_ + static_cast<std::uint64_t>(static_cast<double>(words) / rate);
}

std::uint64_t TracePacer::estimate(std::span<const std::uint64_t> words) const {
    std::uint64_t sum = 0;
    if (level_ == TraceLevel::values) {
        const auto enough = std::max(enough_value_words, words.size() / stride);
        const auto last = words.size() - std::min(words.size(), enough);
        auto at = words.size();
        while (at > last) {
            const auto& block = tables_[static_cast<BlockId>(words[at - 1])];
            sum += block.instructions;
            at -= std::min<std::size_t>(at, 1u + block.value_words);
        }
        return at == words.size() ? 0 : sum * words.size() / (words.size() - at);
    }
    // Steps of 1 to 15, so that no loop of the program is in step with them.
    const bool all = words.size() <= stride * 64;
    std::uint32_t state = 1;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < words.size(); ++seen) {
        sum += tables_[static_cast<BlockId>(words[i])].instructions;
        state = state * 1664525 + 1013904223;
        i += all ? 1 : 1 + (state >> 24) % (2 * stride - 1);
    }
    return seen ? sum * words.size() / seen : 0;
}

}  // namespace shadowprof
