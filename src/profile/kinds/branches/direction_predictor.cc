#include "profile/kinds/branches/direction_predictor.h"

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>

namespace shadowprof {
namespace {

constexpr unsigned all_tables = (1u << DirectionPredictor::tables) - 1;

// A saturating counter from -most - 1 to `most`.
void count(std::int8_t& counter, bool up, int most) {
    counter = static_cast<std::int8_t>(std::clamp(counter + 2 * int{up} - 1, -most - 1, most));
}

// Bit i is set if `a` and `b` have the same in lane i.
unsigned equal_lanes(HistoryLanes a, HistoryLanes b) {
    const auto equal = reinterpret_cast<__m128i>(a == b);
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())));
}

}  // namespace

// Without branches, but for what is rare: nothing could predict them.
DirectionPredictor::Lookup DirectionPredictor::look_up(std::uint64_t pc,
                                                       const BranchHistory& history) {
    Lookup found{.keys = {pc, history}};
    State& base = base_[(pc >> 32) % base_entries];
    const auto at = [&](std::size_t table) -> Entry& { return entry(found.keys, table); };
    Entry &e0 = at(0), &e1 = at(1), &e2 = at(2), &e3 = at(3), &e4 = at(4), &e5 = at(5);
    static_assert(tables == 6);
    found.states = {&base, &e0.state, &e1.state, &e2.state, &e3.state, &e4.state, &e5.state};
    const HistoryLanes tags = {e0.tag, e1.tag, e2.tag, e3.tag, e4.tag, e5.tag};
    // The base table is the lowest bit, and always has the branch.
    const unsigned hits = (equal_lanes(tags, found.keys.tag) & all_tables) << 1 | 1;
    const auto longest = static_cast<unsigned>(std::bit_width(hits)) - 1;
    const unsigned others = (hits & ~(1u << longest)) | 1;
    const auto next = static_cast<unsigned>(std::bit_width(others)) - 1;
    found.provider = longest;
    found.provided = found.states[longest]->counter >= 0;
    found.alternative = found.states[next]->counter >= 0;
    return found;
}

bool DirectionPredictor::predict(std::uint64_t pc, bool taken, const BranchHistory& history) {
    const Lookup found = look_up(pc, history);
    State& provider = *found.states[found.provider];
    const bool is_fresh = is_new(provider), is_right = found.provided == taken;
    const bool decides = found.provided != found.alternative;
    const bool prediction = found.provided != ((trusts_alternative_ >= 0) & is_fresh & decides);
    count(provider.counter, taken, found.provider == 0 ? 1 : 3);
    provider.useful = static_cast<std::uint8_t>(
        std::clamp(provider.useful + int{decides} * (2 * int{is_right} - 1), 0, 3));
    if (is_fresh & decides) count(trusts_alternative_, !is_right, 7);
    // A new entry that is right needs no longer history.
    const bool learns_longer = (prediction != taken) & !(is_fresh & is_right);
    if (learns_longer && found.provider < tables) allocate(found, taken);
    if (--until_aging_ == 0) age();
    return prediction;
}

// Takes an entry that is not useful, of a table with a longer history than the provider's: that
// with the shortest history twice as often as the next one (section 3.2.2). If there is none,
// entries become less useful.
void DirectionPredictor::allocate(const Lookup& found, bool taken) {
    const std::size_t first = found.provider;  // states begin with the base table, tables behind it
    std::array<std::size_t, tables> free;
    std::size_t count = 0;
    for (std::size_t i = first; i < tables; ++i)
        if (entry(found.keys, i).state.useful == 0) free[count++] = i;
    if (count == 0) {
        for (std::size_t i = first; i < tables; ++i) --entry(found.keys, i).state.useful;
        return;
    }
    const std::size_t chosen = free[count > 1 && random_.next() % 3 == 0 ? 1 : 0];
    const std::int8_t weak = taken ? 0 : -1;
    entry(found.keys, chosen) = {.tag = found.keys.tag[chosen], .state = {.counter = weak}};
}

void DirectionPredictor::age() {
    until_aging_ = aging_period;
    const std::uint8_t kept = ages_high_bit_ ? 1 : 2;
    ages_high_bit_ = !ages_high_bit_;
    for (Entry& entry : table_) entry.state.useful &= kept;
}

}  // namespace shadowprof
