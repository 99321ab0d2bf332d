// The model of a predictor: what it predicts of each branch that a trace of blocks comes by.
//
// Direct jumps and calls are always predicted, as the model has no limit to the branches whose
// targets are known. The history gets one bit of each conditional branch, its outcome, and two bits
// of the target of each indirect jump or call.
#pragma once

#include <cstdint>

#include "profile/kinds/branches/branch_history.h"
#include "profile/kinds/branches/direction_predictor.h"
#include "profile/kinds/branches/predicted_branch.h"
#include "profile/kinds/branches/return_stack.h"
#include "profile/kinds/branches/target_predictor.h"

namespace shadowprof {

class BranchPredictor {
  public:
    static BranchModel model();

    // Each takes one executed branch and returns whether it was predicted right. `pc` and targets
    // are numbers, not 0, that differ for different places; the bits of `pc` are well mixed.
    bool conditional(std::uint64_t pc, bool taken) {
        const bool is_right = directions_.predict(pc, taken, history_) == taken;
        history_.push(taken);
        return is_right;
    }
    bool indirect(std::uint64_t pc, std::uint64_t target) {
        const bool is_right = targets_.predict(pc, target, history_) == target;
        const std::uint64_t mixed = mix64(target);
        history_.push((mixed & 1) != 0);
        history_.push((mixed & 2) != 0);
        return is_right;
    }
    // Calls and returns have the stack of their thread.
    static bool return_to(ReturnStack& stack, std::uint64_t target) {
        return stack.pop() == target;
    }

  private:
    BranchHistory history_;
    DirectionPredictor directions_;
    TargetPredictor targets_;
};

}  // namespace shadowprof
