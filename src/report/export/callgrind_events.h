// The events that a callgrind file has beside instructions: what the models of caches and of a
// branch predictor counted.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// The costs of a place, in the order of CallgrindEvents::events().
using EventCounts = std::vector<std::uint64_t>;

// Adds `counts` to `sum`, which may be shorter.
void add(EventCounts& sum, const EventCounts& counts);

// Events have the names that callgrind gives them (valgrind's manual, "Cachegrind: a cache and
// branch-prediction profiler"): Dr and Dw, reads and writes of data; D1mr and D1mw, those of them
// that miss the first level; DLmr and DLmw, those that miss the last one; Bc and Bi, conditional
// and indirect branches; Bcm and Bim, those of them that are mispredicted. What reads and writes
// counts as a read. Returns are no indirect branches here. There are no I1mr and ILmr, as caches of
// instructions are not modelled.
class CallgrindEvents {
  public:
    explicit CallgrindEvents(const Profile& profile);

    struct Event {
        std::string_view name, meaning;
    };
    // Without instructions (Ir), which are the first event of a file.
    const std::vector<Event>& events() const { return events_; }
    // Of all places that have any.
    const std::map<CodeLocation, EventCounts>& counts() const { return counts_; }
    std::map<CodeLocation, EventCounts>& counts() { return counts_; }

  private:
    void add_cache(const Profile& profile);
    void add_branches(const Profile& profile);
    EventCounts& at(CodeLocation place);

    std::vector<Event> events_;
    std::map<CodeLocation, EventCounts> counts_;
};

}  // namespace shadowprof
