#include "profile/kinds/branches/branch_predictor.h"

namespace shadowprof {

BranchModel BranchPredictor::model() {
    constexpr std::uint64_t tag_bits = BranchHistory::tag_bits;
    BranchModel model{.conditional = {{0, DirectionPredictor::base_entries, 0}},
                      .indirect = {{0, TargetPredictor::base_entries, 0}},
                      .return_stack_entries = ReturnStack::entries};
    for (const auto bits : BranchHistory::length_bits)
        model.conditional.push_back({bits, DirectionPredictor::entries, tag_bits});
    for (const auto i : TargetPredictor::lengths)
        model.indirect.push_back(
            {BranchHistory::length_bits[i], TargetPredictor::entries, tag_bits});
    return model;
}

}  // namespace shadowprof
