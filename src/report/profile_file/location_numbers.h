// The numbers of locations in a profile file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "profile/code/location_set.h"

namespace shadowprof {

// All locations of a profile, each once. First add() them, then sort(), then look them up.
class LocationNumbers {
  public:
    void add(CodeLocation location) { locations_.add(location); }

    // Numbers all added locations by module and address.
    void sort() {
        const auto& added = locations_.list();
        std::vector<std::uint32_t> order(added.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return added[a] < added[b]; });
        numbers_.resize(order.size());
        for (std::uint32_t number = 0; number < order.size(); ++number)
            numbers_[order[number]] = number;
        sorted_.clear();
        for (std::uint32_t i : order) sorted_.push_back(added[i]);
    }

    // Indexed by number.
    const std::vector<CodeLocation>& sorted() const { return sorted_; }
    // Needs: `location` was added before sort().
    std::uint32_t of(CodeLocation location) const {
        return numbers_[locations_.find(location).value()];
    }

  private:
    LocationSet locations_;
    std::vector<CodeLocation> sorted_;
    std::vector<std::uint32_t> numbers_;  // by index in the set's list
};

}  // namespace shadowprof
