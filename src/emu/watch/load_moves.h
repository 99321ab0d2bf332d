// How the addresses of one load follow each other within a latency session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/guest_address.h"
#include "base/stride_counts.h"

namespace shadowprof {

// Values that recent loads read, as far as they may be addresses.
class LoadedAddresses {
  public:
    void add(std::uint64_t value) {
        if (value < min_address) return;
        values_[next_] = value;
        next_ = (next_ + 1) % values_.size();
    }
    // Whether one of the values points to `address` or to an object that may contain it.
    bool lead_to(GuestAddress address) const {
        for (const auto value : values_)
            if (value != 0 && address.value - value < largest_object) return true;
        return false;
    }

  private:
    static constexpr std::uint64_t min_address = 1 << 16;  // vm.mmap_min_addr
    // With a larger size, more addresses would be near a pointer by chance.
    static constexpr std::uint64_t largest_object = 1024;
    std::array<std::uint64_t, 16> values_{};
    std::size_t next_ = 0;
};

// How the addresses of one load follow each other.
class LoadMoves : public AddressSteps {
  public:
    void take(GuestAddress address, const LoadedAddresses& loaded) {
        if (executed_)
            AddressSteps::take(last_.value, address.value, 1,
                               [&] { return loaded.lead_to(address); });
        last_ = address;
        executed_ = true;
    }

  private:
    GuestAddress last_;
    bool executed_ = false;
};

}  // namespace shadowprof
