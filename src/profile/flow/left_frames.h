// Which calls in progress a thread has left, by what lies on the part of its stack that it has
// left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "profile/code_location.h"

namespace shadowprof {

// A return address, or another pointer to code, that stands on the stack `times` times, one behind
// the other.
struct StackWords {
    CodeLocation value;
    std::uint32_t times = 1;
};

// The return address that stands for a call that was none: a signal has interrupted a thread before
// the instruction at `place`. So call_site() is that instruction.
constexpr CodeLocation behind_interrupted(CodeLocation place) {
    return {place.module, place.address + 1};
}

// What lies on the part of a stack that a thread has left.
struct LeftStack {
    std::span<const StackWords> words;  // from low addresses to high ones
    // The word that the stack pointer points to then, if it may be a return address.
    std::optional<CodeLocation> top = {};
    // Whether a jump takes the word away, as a return does. So the call with that return address is
    // over, too.
    bool returns_by_jump = false;
};

// Compares calls in progress, the innermost first, with what lies on the part of the stack that was
// left. The return addresses of the calls that were left stand there in this order, among stale
// ones and others.
class LeftFrames {
  public:
    explicit LeftFrames(const LeftStack& stack)
        : words_(stack.words), top_(stack.top), returns_by_jump_(stack.returns_by_jump) {}

    // Whether the next call outwards may have been left. Some calls have no return address on the
    // stack, as those of functions of scripts.
    bool goes_on() const {
        return (at_ < words_.size() && missing_ < max_missing) || (top_ && seen_ == left_);
    }
    // Looks at the next call outwards, which will return to `return_to`.
    void look_at(CodeLocation return_to) {
        const std::size_t call = seen_++;
        if (find(return_to)) {
            left_ = seen_;
            stays_ = candidate_;
            missing_ = 0;
        } else {
            ++missing_;
        }
        if (return_to != top_) return;
        candidate_ = call;
        if (call <= left_) stays_ = call;
    }
    // How many calls were left. That whose return address the stack pointer points to was not, so
    // words that are the same as the return addresses of that call and of others are stale.
    std::size_t left() const {
        if (stays_ == none) return left_;
        return returns_by_jump_ ? stays_ + 1 : stays_;
    }

  private:
    static constexpr int max_missing = 64;
    static constexpr std::size_t none = ~std::size_t{0};

    bool find(CodeLocation return_to) {
        for (auto i = at_; i < words_.size(); ++i) {
            const CodeLocation value = words_[i].value;
            if (value != return_to && behind_interrupted(value) != return_to) continue;
            used_ = i == at_ ? used_ + 1 : 1;
            at_ = i;
            if (used_ == words_[i].times) {
                ++at_;
                used_ = 0;
            }
            return true;
        }
        return false;
    }

    std::span<const StackWords> words_;
    std::optional<CodeLocation> top_;
    bool returns_by_jump_;
    std::size_t at_ = 0;      // the first word that is not below the last call that was found
    std::uint32_t used_ = 0;  // how many of that have been found
    int missing_ = 0;         // how many calls were not found since
    std::size_t seen_ = 0, left_ = 0;
    // The last call with `top_` as its return address, and the last of those up to `left_`.
    std::size_t candidate_ = none, stays_ = none;
};

}  // namespace shadowprof
