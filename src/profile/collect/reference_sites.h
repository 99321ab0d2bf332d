// Numbers for the instructions that refer to memory.
#pragma once

#include <optional>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/collect/reference.h"
#include "profile/profile.h"

namespace shadowprof {

class ReferenceSites {
  public:
    // A limit above what programs have, below what would exhaust memory.
    static constexpr std::size_t max_sites = 1 << 20;

    // Returns nothing if there are too many sites.
    std::optional<ReferenceSite> number(CodeLocation at) {
        const auto hash = location_hash(at);
        const auto found = index_.find(hash, [&](std::uint32_t i) { return locations_[i] == at; });
        if (found || locations_.size() == max_sites) return found;
        index_.insert(hash, locations_.size());
        locations_.push_back(at);
        return static_cast<ReferenceSite>(locations_.size() - 1);
    }
    // Indexed by number.
    const std::vector<CodeLocation>& locations() const { return locations_; }

  private:
    std::vector<CodeLocation> locations_;
    IndexTable index_;
};

}  // namespace shadowprof
