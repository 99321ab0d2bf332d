#include "profile/kinds/branches/target_predictor.h"

#include <bit>

namespace shadowprof {

TargetPredictor::Lookup TargetPredictor::look_up(std::uint64_t pc, const BranchHistory& history) {
    const std::uint64_t last = base_[(pc >> 32) % base_entries];
    Lookup found{.keys = {pc, history}, .provider = -1, .alternative = last, .prediction = last};
    // These tables have fewer entries than an index can tell apart.
    found.keys.index ^= found.keys.index >> std::countr_zero(entries);
    for (std::size_t i = 0; i < tables; ++i) {
        const Entry& candidate = entry(found, i);
        if (candidate.tag != found.keys.tag[lengths[i]]) continue;
        found.provider = static_cast<int>(i);
        found.alternative = found.prediction;
        found.prediction = candidate.target;
    }
    return found;
}

std::uint64_t TargetPredictor::predict(std::uint64_t pc, std::uint64_t target,
                                       const BranchHistory& history) {
    const Lookup found = look_up(pc, history);
    const bool is_right = found.prediction == target;
    if (found.provider >= 0) {
        Entry& provider = entry(found, static_cast<std::size_t>(found.provider));
        if (found.prediction != found.alternative) provider.useful = is_right;
        if (is_right)
            provider.confidence = provider.confidence < 3 ? provider.confidence + 1 : 3;
        else if (provider.confidence > 0)
            --provider.confidence;
        else
            provider.target = target;
    }
    base_[(pc >> 32) % base_entries] = target;
    if (!is_right) allocate(found, target);
    return found.prediction;
}

// Takes the first entry that is not useful, of a table with a longer history than the provider's.
// Those before it become less useful.
void TargetPredictor::allocate(const Lookup& found, std::uint64_t target) {
    for (auto i = static_cast<std::size_t>(found.provider + 1); i < tables; ++i) {
        Entry& candidate = entry(found, i);
        if (candidate.useful == 0) {
            candidate = {.target = target, .tag = found.keys.tag[lengths[i]]};
            return;
        }
        candidate.useful = 0;
    }
}

}  // namespace shadowprof
