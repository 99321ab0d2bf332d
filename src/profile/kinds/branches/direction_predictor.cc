#include "profile/kinds/branches/direction_predictor.h"

#include <algorithm>
#include <array>
#include <bit>

namespace shadowprof {
namespace {

// A saturating counter of `bits` bits, from -2^(bits-1) on.
template <int bits>
void count(std::int8_t& counter, bool up) {
    constexpr int most = (1 << (bits - 1)) - 1, least = -most - 1;
    counter = static_cast<std::int8_t>(std::clamp(counter + (up ? 1 : -1), least, most));
}

}  // namespace

bool DirectionPredictor::predict(std::uint64_t pc, bool taken, const BranchHistory& history) {
    const Lookup found = look_up(pc, history);
    train(found, taken);
    return found.prediction;
}

// Which tables have the tag is known without branches, as nothing could predict them.
DirectionPredictor::Lookup DirectionPredictor::look_up(std::uint64_t pc,
                                                       const BranchHistory& history) {
    Lookup found{.keys = {pc, history},
                 .base = &base_[(pc >> 32) % base_entries],
                 .provider = -1,
                 .alternative = false,
                 .provided = false,
                 .prediction = false};
    unsigned hits = 0, taken = 0;
    for (std::size_t i = 0; i < tables; ++i) {
        const Entry& candidate = entry(found, i);
        hits |= unsigned{candidate.tag == found.keys.tag[i]} << (i + 1);
        taken |= unsigned{candidate.counter >= 0} << (i + 1);
    }
    // The base table is the lowest bit.
    hits |= 1;
    taken |= unsigned{*found.base >= 0};
    const auto longest = static_cast<unsigned>(std::bit_width(hits)) - 1;
    const unsigned others = hits & ~(1u << longest);
    const auto next = others == 0 ? 0 : static_cast<unsigned>(std::bit_width(others)) - 1;
    found.provider = static_cast<int>(longest) - 1;
    found.provided = found.prediction = (taken >> longest & 1) != 0;
    found.alternative = (taken >> next & 1) != 0;
    if (longest != 0 && trusts_alternative_ >= 0 && is_new(provider(found)))
        found.prediction = found.alternative;
    return found;
}

void DirectionPredictor::train(const Lookup& found, bool taken) {
    bool learns_longer = found.prediction != taken && found.provider + 1 < static_cast<int>(tables);
    if (found.provider < 0) {
        count<2>(*found.base, taken);
    } else {
        Entry& entry = provider(found);
        const bool is_right = found.provided == taken;
        // A new entry that is right needs no longer history.
        if (is_new(entry) && is_right) learns_longer = false;
        if (found.provided != found.alternative) {
            if (is_new(entry)) count<4>(trusts_alternative_, !is_right);
            if (is_right && entry.useful < 3) ++entry.useful;
            if (!is_right && entry.useful > 0) --entry.useful;
        }
        count<3>(entry.counter, taken);
    }
    if (learns_longer) allocate(found, taken);
    if (--until_aging_ == 0) age();
}

// Takes an entry that is not useful, of a table with a longer history than the provider's: that
// with the shortest history twice as often as the next one (section 3.2.2). If there is none,
// entries become less useful.
void DirectionPredictor::allocate(const Lookup& found, bool taken) {
    const auto first = static_cast<std::size_t>(found.provider + 1);
    std::array<std::size_t, tables> free;
    std::size_t count = 0;
    for (std::size_t i = first; i < tables; ++i)
        if (entry(found, i).useful == 0) free[count++] = i;
    if (count == 0) {
        for (std::size_t i = first; i < tables; ++i) --entry(found, i).useful;
        return;
    }
    const std::size_t chosen = free[count > 1 && random_.next() % 3 == 0 ? 1 : 0];
    const std::int8_t weak = taken ? 0 : -1;
    entry(found, chosen) = {.tag = found.keys.tag[chosen], .counter = weak};
}

void DirectionPredictor::age() {
    until_aging_ = aging_period;
    const std::uint8_t kept = ages_high_bit_ ? 1 : 2;
    ages_high_bit_ = !ages_high_bit_;
    for (Entry& entry : table_) entry.useful &= kept;
}

}  // namespace shadowprof
