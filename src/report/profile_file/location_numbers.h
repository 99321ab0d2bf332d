// The numbers of locations in a profile file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/profile.h"

namespace shadowprof {

// All locations of a profile, each once. First add() them, then sort(), then look them up. Made for
// tens of millions of look-ups, as every block of every path is one.
class LocationNumbers {
  public:
    void add(CodeLocation location) {
        if (find(location)) return;
        index_.insert(location_hash(location), locations_.size());
        locations_.push_back(location);
    }

    // Numbers all added locations by module and address.
    void sort() {
        std::vector<std::uint32_t> order(locations_.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
            return locations_[a] < locations_[b];
        });
        numbers_.resize(order.size());
        for (std::uint32_t number = 0; number < order.size(); ++number)
            numbers_[order[number]] = number;
        sorted_.clear();
        for (std::uint32_t i : order) sorted_.push_back(locations_[i]);
    }

    // Indexed by number.
    const std::vector<CodeLocation>& sorted() const { return sorted_; }
    // Needs: `location` was added before sort().
    std::uint32_t of(CodeLocation location) const { return numbers_[find(location).value()]; }

  private:
    std::optional<std::uint32_t> find(CodeLocation location) const {
        return index_.find(location_hash(location),
                           [&](std::uint32_t i) { return locations_[i] == location; });
    }

    IndexTable index_;  // finds elements of locations_
    std::vector<CodeLocation> locations_, sorted_;
    std::vector<std::uint32_t> numbers_;  // by index in locations_
};

}  // namespace shadowprof
