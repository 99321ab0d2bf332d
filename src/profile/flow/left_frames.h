// Which calls in progress a thread has left, by what lies on the part of its stack that it has
// left.
#pragma once

#include <cstdint>
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

// Compares calls in progress, the innermost first, with the words of the part of the stack that was
// left, from low addresses to high ones. The return addresses of the calls that were left stand
// there in this order, among stale ones and others.
class LeftFrames {
  public:
    explicit LeftFrames(std::span<const StackWords> words) : words_(words) {}

    // Whether the next call outwards may have been left. Some calls have no return address on the
    // stack, as those of functions of scripts.
    bool goes_on() const { return at_ < words_.size() && missing_ < max_missing; }
    // Whether the next call, which will return to `return_to`, was left, and so all before it.
    bool has_left(CodeLocation return_to) {
        for (auto i = at_; i < words_.size(); ++i) {
            const CodeLocation value = words_[i].value;
            if (value != return_to && behind_interrupted(value) != return_to) continue;
            used_ = i == at_ ? used_ + 1 : 1;
            at_ = i;
            if (used_ == words_[i].times) {
                ++at_;
                used_ = 0;
            }
            missing_ = 0;
            return true;
        }
        ++missing_;
        return false;
    }

  private:
    static constexpr int max_missing = 64;

    std::span<const StackWords> words_;
    std::size_t at_ = 0;      // the first word that is not below the last call that was found
    std::uint32_t used_ = 0;  // how many of that have been found
    int missing_ = 0;         // how many calls were not found since
};

}  // namespace shadowprof
