// The values of --every and --burst-length, which are also values of control commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

std::string_view name(BurstedKind kind);

// A number of events of one kind: either the length of its bursts or the distance between them.
struct EventsOfKind {
    BurstedKind kind = BurstedKind::edge;
    std::uint64_t events = 0;
};

struct EveryValue {
    std::uint64_t every = 0;  // for kinds that are not in `own`; 0: not given
    EventKinds events;
    std::vector<EventsOfKind> own;

    // Overwrites everything that `more` gives; the rest stays.
    void add(const EveryValue& more);
};

// Parses a count and the events to count, which are calls and back edges if the text does not say:
// "1000", "10kcalls", "500backedges", "1kcalls+backedges". Counts for single kinds may follow or
// stand alone: "value:50k", "1000calls,path:1,value:50k". Errors: usage; the message says what is
// accepted and suggests the nearest word.
Result<EveryValue> parse_every(std::string_view text);

// Parses lengths: "edge:1", "path:50,value:0". The errors are those of parse_every().
Result<std::vector<EventsOfKind>> parse_burst_lengths(std::string_view text);

// Returns the bursts of the collected kinds, with default lengths. Errors: usage, if `every` has no
// general count or names a kind that is not collected.
Result<BurstOptions> bursts_of(const EveryValue& every, const ProfileKinds& collected);

// Change `bursts`. Errors: usage, if a kind is not collected.
Result<void> set_every(BurstOptions& bursts, const EveryValue& every,
                       const ProfileKinds& collected);
Result<void> set_length(BurstOptions& bursts, const EventsOfKind& length,
                        const ProfileKinds& collected);

// Text of --every and --burst-length for the collected kinds: "1000calls,value:50000" and
// "edge:1,path:1".
std::string every_text(const BurstOptions& bursts, const ProfileKinds& collected);
std::string lengths_text(const BurstOptions& bursts, const ProfileKinds& collected);

}  // namespace shadowprof
