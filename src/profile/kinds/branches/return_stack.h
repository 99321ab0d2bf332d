// Predicts returns: a stack of return addresses in a ring, of which calls that are too deep
// overwrite the oldest (Skadron et al., Improving prediction for procedure returns with
// return-address-stack repair mechanisms, MICRO 1998).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shadowprof {

class ReturnStack {
  public:
    static constexpr std::size_t entries = 32;

    void push(std::uint64_t return_address) {
        top_ = (top_ + 1) % entries;
        ring_[top_] = return_address;
        if (depth_ < entries) ++depth_;
    }
    // Returns the predicted address; 0 if the stack is empty.
    std::uint64_t pop() {
        if (depth_ == 0) return 0;
        const std::uint64_t address = ring_[top_];
        top_ = (top_ - 1) % entries;
        --depth_;
        return address;
    }

  private:
    std::array<std::uint64_t, entries> ring_{};
    std::size_t top_ = 0, depth_ = 0;
};

}  // namespace shadowprof
