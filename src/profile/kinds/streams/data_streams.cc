#include "profile/kinds/streams/data_streams.h"

#include <algorithm>

namespace shadowprof {
namespace {

using Grammar = Sequitur::Grammar;
using Kind = Sequitur::Symbol::Kind;

// The longest rule that may be a cycle, in periods of the longest stream. If a loop goes on for
// longer, its rule is made of two others that are cycles, down to a rule of 2 to 4 periods.
constexpr std::uint64_t max_periods = 4;

void expand(const Grammar& grammar, std::size_t rule, std::vector<std::uint32_t>& pieces) {
    for (const auto symbol : grammar.rules[rule])
        if (symbol.kind == Kind::rule)
            expand(grammar, symbol.number, pieces);
        else
            pieces.push_back(symbol.number);
}

// Returns the shortest p for which each element equals the one p places before it (Knuth, Morris
// and Pratt).
std::size_t period_of(std::span<const std::uint32_t> sequence) {
    std::vector<std::size_t> border(sequence.size() + 1);
    for (std::size_t i = 1, k = 0; i < sequence.size(); ++i) {
        while (k != 0 && sequence[i] != sequence[k]) k = border[k];
        if (sequence[i] == sequence[k]) ++k;
        border[i + 1] = k;
    }
    return sequence.size() - border[sequence.size()];
}

}  // namespace

void DataStreams::begin_burst() {
    if (buffer_.empty()) return;
    find_cuts(true);
    buffer_.clear();
    keys_.clear();
    cuts_.clear();
    piece_begin_.reset();
    grammar_.append_break();
}

void DataStreams::set_weight(std::uint64_t weight) {
    if (weight == weight_) return;
    finish();
    weight_ = weight;
}

void DataStreams::finish() {
    begin_burst();
    end_grammar();
}

// A cut is known when farthest_cut_distance references follow it.
void DataStreams::find_cuts(bool burst_ends) {
    const std::size_t known =
        burst_ends ? keys_.size() : keys_.size() - std::min(keys_.size(), farthest_cut_distance);
    for (std::size_t at = cuts_.size(); at < known; ++at) {
        cuts_.push_back(cut_height(keys_, at));
        if (cuts_[at] == highest_cut) cut_before(at);
    }
    if (piece_begin_ && known - *piece_begin_ > longest_piece) {
        piece_begin_.reset();
        grammar_.append_break();
    }
    drop_up_to(
        std::min(piece_begin_.value_or(known), known - std::min(known, farthest_cut_distance)));
}

void DataStreams::cut_before(std::size_t at) {
    if (piece_begin_) {
        const std::size_t length = at - *piece_begin_;
        if (length <= longest_piece) {
            const auto piece = number_of_piece(*piece_begin_, length);
            grammar_.append(piece);
            ++pieces_[piece].occurrences;
        } else {
            grammar_.append_break();
        }
    }
    piece_begin_ = at;
    if (pieces_.size() >= max_pieces || piece_references_.size() >= max_references) end_grammar();
}

void DataStreams::drop_up_to(std::size_t at) {
    const auto count = static_cast<std::ptrdiff_t>(at);
    buffer_.erase(buffer_.begin(), buffer_.begin() + count);
    keys_.erase(keys_.begin(), keys_.begin() + count);
    cuts_.erase(cuts_.begin(), cuts_.begin() + count);
    if (piece_begin_) *piece_begin_ -= at;
}

std::uint32_t DataStreams::number_of_piece(std::size_t begin, std::size_t length) {
    const auto references = std::span(buffer_).subspan(begin, length);
    std::uint64_t hash = length;
    for (std::size_t i = begin; i < begin + length; ++i) hash = mix64(hash ^ keys_[i]);
    const auto found = index_.find(hash, [&](std::uint32_t i) {
        const auto known =
            std::span(piece_references_).subspan(pieces_[i].begin, pieces_[i].length);
        return std::equal(references.begin(), references.end(), known.begin(), known.end());
    });
    if (found) return *found;
    index_.insert(hash, pieces_.size());
    pieces_.push_back({.begin = piece_references_.size(), .length = length, .hash = hash});
    piece_references_.insert(piece_references_.end(), references.begin(), references.end());
    const auto cuts = std::span(cuts_).subspan(begin, length);
    piece_cuts_.insert(piece_cuts_.end(), cuts.begin(), cuts.end());
    return static_cast<std::uint32_t>(pieces_.size() - 1);
}

// Relies on the order of rules: each comes before those that it uses.
std::vector<DataStreams::RuleUse> DataStreams::rule_uses(const Grammar& grammar) const {
    std::vector<RuleUse> uses(grammar.rules.size());
    for (std::size_t rule = uses.size(); rule-- > 0;)
        for (const auto symbol : grammar.rules[rule]) {
            if (symbol.kind == Kind::gap) continue;
            const bool is_rule = symbol.kind == Kind::rule;
            uses[rule].pieces += is_rule ? uses[symbol.number].pieces : 1;
            uses[rule].references +=
                is_rule ? uses[symbol.number].references : pieces_[symbol.number].length;
        }
    uses[0].uses = 1;
    for (std::size_t rule = 0; rule < uses.size(); ++rule)
        for (const auto symbol : grammar.rules[rule])
            if (symbol.kind == Kind::rule) uses[symbol.number].uses += uses[rule].uses;
    for (RuleUse& use : uses) use.uses_outside = use.uses;
    return uses;
}

// Goes from the start rule downwards, so that the content of a cycle is not counted again.
void DataStreams::end_grammar() {
    const Grammar grammar = grammar_.grammar();
    auto uses = rule_uses(grammar);
    for (std::size_t rule = 0; rule < uses.size(); ++rule) {
        const bool is_cycle = rule != 0 && count_cycle(grammar, rule, uses[rule]);
        const auto within = is_cycle ? uses[rule].uses : uses[rule].uses - uses[rule].uses_outside;
        for (const auto symbol : grammar.rules[rule])
            if (symbol.kind == Kind::rule) uses[symbol.number].uses_outside -= within;
    }
    for (const Piece& piece : pieces_)
        table_.add(std::span(piece_references_).subspan(piece.begin, piece.length),
                   std::span(piece_cuts_).subspan(piece.begin, piece.length),
                   piece.occurrences * weight_);
    grammar_.clear();
    pieces_.clear();
    piece_references_.clear();
    piece_cuts_.clear();
    index_.clear();
}

// Counts the rule if it is a cycle. Returns whether it is.
bool DataStreams::count_cycle(const Grammar& grammar, std::size_t rule, const RuleUse& use) {
    if (use.uses_outside == 0 || use.references > max_periods * limits_.max_length) return false;
    Pieces pieces;
    expand(grammar, rule, pieces);
    const std::size_t length = period_of(pieces), times = pieces.size() / length;
    // A repeated single piece counts as that piece.
    if (times < 2 || length < 2) return false;
    pieces.resize(length);
    std::size_t references = 0;
    for (const auto piece : pieces) references += pieces_[piece].length;
    if (references > limits_.max_length) return false;
    turn_to_least(pieces);
    count_cycle(pieces, times * use.uses_outside);
    return true;
}

void DataStreams::count_cycle(std::span<const std::uint32_t> period, std::uint64_t occurrences) {
    std::vector<DataReference> references;
    std::vector<std::uint8_t> cuts;
    for (const auto number : period) {
        Piece& piece = pieces_[number];
        piece.occurrences -= occurrences;
        const auto begin = static_cast<std::ptrdiff_t>(piece.begin),
                   end = begin + static_cast<std::ptrdiff_t>(piece.length);
        references.insert(references.end(), piece_references_.begin() + begin,
                          piece_references_.begin() + end);
        cuts.insert(cuts.end(), piece_cuts_.begin() + begin, piece_cuts_.begin() + end);
    }
    table_.add(references, cuts, occurrences * weight_);
}

// Rotates the period to its least rotation by the pieces' hashes.
void DataStreams::turn_to_least(Pieces& period) const {
    const auto hash = [&](std::size_t place) {
        return pieces_[period[place % period.size()]].hash;
    };
    std::size_t least = 0;
    for (std::size_t other = 1; other < period.size(); ++other)
        for (std::size_t i = 0; i < period.size(); ++i) {
            if (hash(other + i) == hash(least + i)) continue;
            if (hash(other + i) < hash(least + i)) least = other;
            break;
        }
    std::rotate(period.begin(), period.begin() + static_cast<std::ptrdiff_t>(least), period.end());
}

}  // namespace shadowprof
