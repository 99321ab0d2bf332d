// Collects the loads of latency sessions, by instruction.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/guest_address.h"
#include "base/stride_counts.h"
#include "profile/kinds/latency/latency_levels.h"
#include "profile/profile.h"

namespace shadowprof {

class LoadTable {
  public:
    // Adds a load of `size_bytes` bytes at `address` that took `cycles`.
    void add_timed(CodeLocation at, GuestAddress address, std::uint64_t size_bytes,
                   std::uint64_t cycles);
    // Adds loads of lines that were accessed before in the session.
    void add_reused(CodeLocation at, std::uint64_t count, std::uint64_t line_crossings,
                    std::uint64_t page_crossings);
    // Adds executions of a load that follow another execution of it: those at the same address,
    // those at another one, those of the latter whose address was loaded, and the most frequent
    // distance.
    void add_moves(CodeLocation at, std::uint64_t constant, std::uint64_t moved,
                   std::uint64_t chased, const StrideCounts::Entry& stride);

    // Hottest first, with levels if the host has any.
    std::vector<LoadLatency> loads(const LatencyHost& host) const;

  private:
    struct Row {
        LoadLatency load;
        AddressSteps steps;
    };
    Row& row(CodeLocation at);

    std::map<CodeLocation, Row> rows_;
};

}  // namespace shadowprof
