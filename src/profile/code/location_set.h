// A set of locations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/code_location.h"

namespace shadowprof {

// Made for tens of millions of look-ups, as every block of every path is one.
class LocationSet {
  public:
    void add(CodeLocation location) {
        if (find(location)) return;
        index_.insert(hash_of(location), locations_.size());
        locations_.push_back(location);
    }
    // Returns the location's index in the list, or nothing if it was not added.
    std::optional<std::uint32_t> find(CodeLocation location) const {
        return index_.find(hash_of(location),
                           [&](std::uint32_t i) { return locations_[i] == location; });
    }
    std::size_t size() const { return locations_.size(); }
    // In the order in which they were added.
    const std::vector<CodeLocation>& list() const { return locations_; }

  private:
    static std::uint64_t hash_of(CodeLocation location) {
        return locations_hash(hash_seed(), {&location, 1});
    }

    IndexTable index_;  // finds elements of locations_
    std::vector<CodeLocation> locations_;
};

}  // namespace shadowprof
