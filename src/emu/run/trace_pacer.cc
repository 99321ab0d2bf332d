#include "emu/run/trace_pacer.h"

#include <algorithm>

#include "emu/translation/superblock_finder.h"

namespace shadowprof {
namespace {

constexpr std::size_t record_distance = 8;  // on average
// In bursts, at least this many words and an eighth of the trace are looked at.
constexpr std::size_t enough_burst_words = 4096;
// The longest record of a burst must fit.
constexpr std::size_t min_record_words = 4096;
// Bursts that are counted in events may have smaller buffers, as long as some record fits.
constexpr std::size_t min_burst_words = 1024;
constexpr std::size_t first_words = 512;
constexpr std::size_t words_growth = 4;
// A shorter rest of a phase is not worth a buffer of its own.
constexpr std::uint64_t min_instructions = 64;
constexpr std::uint64_t min_events = 4;
// Bursts that are counted in events end after this many words, however few events they have.
constexpr std::uint64_t max_burst_words = 1 << 16;
constexpr std::uint64_t max_words_per_event = 256;

}  // namespace

TracePacer::TracePacer(const RunLimits& limits, const BlockTables& tables)
    : limits_(limits),
      tables_(tables),
      random_(static_cast<std::minstd_rand::result_type>(limits.seed)),
      min_words_(by_events() ? min_burst_words : min_record_words) {
    if (limits_.untraced) {
        level_ = TraceLevel::none;
        return;
    }
    // Either kind of burst may come first, more likely the more frequent one.
    if (kinds_of_bursts() == 2)
        for (auto& begun : begun_before_) begun = random_part();
    // The first phase is a random part of a whole one, so that periods do not align with samples.
    if (by_events()) {
        burst_events_ = static_cast<std::uint64_t>(min_burst_words / words_per_event_[1]);
        phase_left_ = 1 + random_() % std::max<std::uint64_t>(1, pause());
    } else if (kinds_of_bursts() == 0) {
        phase_left_ = limits_.instructions;
    } else if (never_pauses()) {
        next_ = last_burst_ = other_burst(last_burst_);
        phase_left_ = limits_.instructions;
    } else {
        phase_left_ = 1 + random_() % (limits_.burst_period / kinds_of_bursts());
    }
}

std::uint64_t TracePacer::burst_length(TraceLevel level) const {
    if (level == TraceLevel::values)
        return by_events() ? limits_.value_events : limits_.value_instructions;
    return by_events() ? limits_.reference_events : limits_.reference_instructions;
}

unsigned TracePacer::kinds_of_bursts() const {
    return (burst_length(TraceLevel::values) != 0) + (burst_length(TraceLevel::references) != 0);
}

// The kind of burst that follows one at `level`.
TraceLevel TracePacer::other_burst(TraceLevel level) const {
    const auto other = level == TraceLevel::values ? TraceLevel::references : TraceLevel::values;
    if (burst_length(other) != 0) return other;
    return other == TraceLevel::values ? TraceLevel::references : TraceLevel::values;
}

// The kind of burst that is due first, by the amount of each kind so far: bursts of one kind may be
// longer than requested while the other's are not.
TraceLevel TracePacer::due_burst() const {
    if (kinds_of_bursts() < 2) return other_burst(last_burst_);
    const auto due = [&](TraceLevel level) {
        const auto at = static_cast<std::size_t>(level);
        const auto had =
            static_cast<double>(burst_units_[at]) / static_cast<double>(burst_length(level));
        return (begun_before_[at] + had) * events_between(level);
    };
    return due(TraceLevel::values) < due(TraceLevel::references) ? TraceLevel::values
                                                                 : TraceLevel::references;
}

// 1 if bursts are not counted in events: then both kinds are equally frequent.
double TracePacer::events_between(TraceLevel level) const {
    if (!by_events()) return 1;
    const auto events = level == TraceLevel::values ? limits_.events_between_values
                                                    : limits_.events_between_references;
    return std::max(static_cast<double>(events), 1.0);
}

// Whether everything is in bursts of one kind.
bool TracePacer::never_pauses() const {
    return !by_events() && limits_.value_instructions + limits_.reference_instructions != 0 &&
           std::max(limits_.value_instructions, limits_.reference_instructions) >=
               limits_.burst_period;
}

// If not, the run stays at one level until something else ends it.
bool TracePacer::is_paced() const {
    return limits_.instructions < RunLimits::unlimited ||
           (kinds_of_bursts() != 0 && !never_pauses());
}

bool TracePacer::finished() const {
    if (limits_.untraced) return false;
    if (limits_.blocks != 0 && blocks_ >= limits_.blocks) return true;
    const auto close_enough = std::max<std::uint64_t>(16, limits_.instructions / 1024);
    return instructions_ + close_enough >= limits_.instructions;
}

// A random number from 0 to 1.
double TracePacer::random_part() {
    return static_cast<double>(random_()) / static_cast<double>(std::minstd_rand::max());
}

// A random number from half to one and a half times `units`.
std::uint64_t TracePacer::jittered(std::uint64_t units) {
    return units / 2 + random_() % (units + 1);
}

void TracePacer::begin_phase() {
    if (kinds_of_bursts() == 0 || (next_ != TraceLevel::blocks && !never_pauses()))
        next_ = TraceLevel::blocks;
    else
        next_ = last_burst_ = due_burst();
    phase_left_ = std::max<std::uint64_t>(1, next_phase());
}

std::uint64_t TracePacer::next_phase() {
    if (next_ == TraceLevel::blocks) return jittered(pause());
    if (!by_events()) return jittered(burst_length(next_));
    burst_events_ = burst_words_ = 0;
    return burst_length(next_);
}

std::uint64_t TracePacer::pause() const {
    if (by_events()) return event_pause();
    const auto bursts = limits_.value_instructions + limits_.reference_instructions;
    const auto rest = limits_.burst_period - std::min(limits_.burst_period, bursts);
    return std::max<std::uint64_t>(1, rest / std::max(1u, kinds_of_bursts()));
}

// The pause from a burst to the next one of any kind. It is longer in proportion after a burst that
// was longer than requested.
std::uint64_t TracePacer::event_pause() const {
    const bool none_yet = last_burst_ == TraceLevel::blocks;
    const auto wanted = burst_length(none_yet ? other_burst(last_burst_) : last_burst_);
    const double longer =
        std::max(1.0, static_cast<double>(burst_events_) / static_cast<double>(wanted));
    double bursts_per_event = 0;
    for (const auto level : {TraceLevel::values, TraceLevel::references})
        if (burst_length(level) != 0) bursts_per_event += 1 / events_between(level);
    return static_cast<std::uint64_t>(std::min(longer / bursts_per_event, 1e15));
}

std::size_t TracePacer::next_words(std::size_t room, std::uint64_t most) {
    if (limits_.untraced) return room;
    if (phase_left_ == 0) begin_phase();
    level_ = next_;
    if (limits_.blocks != 0) return std::min<std::size_t>(room, limits_.blocks - blocks_);
    if (!is_paced()) return room;
    const auto left = limits_.instructions - std::min(instructions_, limits_.instructions);
    const auto due = std::min(left, most);
    const auto wanted = std::min(static_cast<double>(due) * words_per_instruction(),
                                 static_cast<double>(phase_left_) * words_per_unit());
    if (level_ == TraceLevel::blocks && !block_rate_known_) {
        const auto safe = std::min(due, phase_left_) / SuperblockFinder::max_instructions;
        return std::clamp<std::size_t>(safe, 1, room);
    }
    // Until a level's rate is known, it gets larger and larger parts.
    auto& traced = traced_words_[at_level()];
    const auto max_words = std::min<std::size_t>(room, first_words + words_growth * traced);
    const auto least = level_ == TraceLevel::blocks ? std::size_t{1} : std::min(room, min_words_);
    return std::min(std::max(max_words, least),
                    std::max(least, static_cast<std::size_t>(std::min(wanted, 1e12))));
}

void TracePacer::account(std::span<const std::uint64_t> words) {
    if (limits_.untraced) return;
    blocks_ += words.size();
    if (!is_paced()) return;
    const auto count = estimate(words);
    traced_words_[at_level()] += words.size();
    if (level_ == TraceLevel::blocks) block_rate_known_ = true;
    instructions_ += count;
    if (count)
        words_per_instruction() = static_cast<double>(words.size()) / static_cast<double>(count);
    if (by_events()) return account_events(words);
    burst_units_[at_level()] += count;
    phase_left_ -= std::min(phase_left_, std::max<std::uint64_t>(count, 1));
    if (phase_left_ < min_instructions) phase_left_ = 0;
}

void TracePacer::account_events(std::span<const std::uint64_t> words) {
    const auto count = estimate_events(words);
    auto& rate = words_per_event_[at_level()];
    // A phase without events may take long, so it gets larger and larger parts.
    rate = count ? static_cast<double>(words.size()) / static_cast<double>(count)
                 : std::min(2 * rate, 1e9);
    burst_units_[at_level()] += count;
    phase_left_ -= std::min(phase_left_, count);
    if (phase_left_ < min_events) phase_left_ = 0;
    if (level_ == TraceLevel::blocks) return;
    burst_events_ += count;
    burst_words_ += words.size();
    // A burst without events must end too.
    if (burst_words_ > max_burst_words + max_words_per_event * burst_length(level_))
        phase_left_ = 0;
    // No record fitted: the next buffer must be larger.
    min_words_ = words.empty() ? min_record_words : min_burst_words;
}

std::uint64_t TracePacer::instructions_with(std::uint64_t words) const {
    const auto rate = words_per_instruction_[at_level()];
    return instructions_ + static_cast<std::uint64_t>(static_cast<double>(words) / rate);
}

std::uint64_t TracePacer::estimate(std::span<const std::uint64_t> words) const {
    return estimated_sum(
        words, [](const BlockInfo& row, const std::uint64_t*) { return row.instructions; });
}

std::uint64_t TracePacer::count(std::span<const std::uint64_t> words) const {
    std::uint64_t sum = 0;
    for (auto at = words.size(); at != 0;) {
        const BlockInfo& record = row(words[at - 1]);
        at -= std::min<std::size_t>(at, 1u + record.value_words);
        sum += record.instructions;
    }
    return sum;
}

// It is not known yet where control goes from the last record; its target is assumed.
std::uint64_t TracePacer::estimate_events(std::span<const std::uint64_t> words) const {
    return estimated_sum(words, [&](const BlockInfo& from, const std::uint64_t* next) {
        const GuestAddress to = next ? row(*next).start : from.target;
        const bool leaves =
            to.value != 0 && is_event(limits_.events, from.terminator, from.last, to);
        return BlockTables::events_in(from, limits_.events) + leaves;
    });
}

// Estimates the sum of `of` over all records from some of them. `of` gets a record's row, and the
// id of the record behind it or null.
template <typename Of>
std::uint64_t TracePacer::estimated_sum(std::span<const std::uint64_t> words, Of of) const {
    std::uint64_t sum = 0;
    if (level_ != TraceLevel::blocks) {
        const auto enough = std::max(enough_burst_words, words.size() / record_distance);
        const auto last = words.size() - std::min(words.size(), enough);
        auto at = words.size();
        while (at > last) {
            const BlockInfo& block = row(words[at - 1]);
            at -= std::min<std::size_t>(at, 1u + block.value_words);
            sum += of(block, at ? &words[at - 1] : nullptr);
        }
        return at == words.size() ? 0 : sum * words.size() / (words.size() - at);
    }
    // Steps vary from 1 to 15, so that no loop of the program is in step with them.
    const bool all = words.size() <= record_distance * 64;
    std::uint32_t state = 1;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < words.size(); ++seen) {
        sum += of(row(words[i]), i ? &words[i - 1] : nullptr);
        state = state * 1664525 + 1013904223;
        i += all ? 1 : 1 + (state >> 24) % (2 * record_distance - 1);
    }
    return seen ? sum * words.size() / seen : 0;
}

}  // namespace shadowprof
