// How the addresses of one static load follow each other: whether a prefetcher could know them.
//
// For each execution behind another one of the same load in the same burst, the difference of their
// addresses is looked at. It is none; or the load's most frequent other one, its stride; or any
// other. An execution with any other is part of a chase where the address was loaded itself, by
// this load or another one, but for a constant. What the trace tells of this is that the base
// register was last written by a load, as values are not traced at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/stride_counts.h"
#include "profile/collect/reference.h"
#include "profile/profile.h"

namespace shadowprof {

class AddressPatterns {
  public:
    // What is known of one load.
    struct Load : AddressSteps {
        ReferenceSite site = 0;
        std::uint64_t last_address = 0;
        std::uint64_t last_burst = 0;  // 0: never executed
    };
    static constexpr std::size_t most_loads = 1 << 20;

    // What comes next does not follow what came last.
    void forget() {
        ++burst_;
        loaded_ = 0;
    }
    // As HazardFinder::take(). Only what an instruction loads first counts.
    void take(const Reference& reference, std::uint64_t weight);

    const std::vector<Load>& loads() const { return loads_; }

  private:
    void note(const Reference& reference, std::uint64_t weight);

    std::vector<std::uint32_t> by_site_;  // places in loads_, plus 1
    std::vector<Load> loads_;
    std::uint64_t burst_ = 1;
    std::uint16_t loaded_ = 0;  // registers that are what was loaded, plus a constant
    bool loads_now_ = false;    // the instruction has loaded
};

// What all collectors say of one load. The stride is the most frequent one.
AddressMoves address_moves(std::uint64_t constant, std::uint64_t moved, std::uint64_t chased,
                           const StrideCounts::Entry& stride);

}  // namespace shadowprof
