// The values of --every and --burst-length, which commands of a control channel have too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

std::string_view name(BurstedKind kind);

// A number of events of one kind: the length of its bursts, or how far apart they are.
struct EventsOfKind {
    BurstedKind kind = BurstedKind::edge;
    std::uint64_t events = 0;
};

struct EveryValue {
    std::uint64_t every = 0;  // of kinds that have none of their own; 0: it does not say
    EventKinds events;
    std::vector<EventsOfKind> own;

    // Takes over what `more` says. What it does not say stays.
    void add(const EveryValue& more);
};

// "1000", "10kcalls", "500backedges", "1kcalls+backedges": a count and which events it is of; both
// kinds if it does not say. "value:50k", "1000calls,path:1,value:50k": also of single kinds.
// Errors: usage, saying what is accepted, and the word that was meant.
Result<EveryValue> parse_every(std::string_view text);

// "edge:1", "path:50,value:0". The same errors.
Result<std::vector<EventsOfKind>> parse_burst_lengths(std::string_view text);

// Bursts of the kinds that are collected, with the lengths that they have if none are asked for.
// Errors: usage, if `every` says nothing in general, or something of what is not collected.
Result<BurstOptions> bursts_of(const EveryValue& every, const ProfileKinds& collected);

// Errors: usage, if a kind is not collected.
Result<void> set_every(BurstOptions& bursts, const EveryValue& every,
                       const ProfileKinds& collected);
Result<void> set_length(BurstOptions& bursts, const EventsOfKind& length,
                        const ProfileKinds& collected);

// "1000calls,value:50000", and "edge:1,path:1": of the kinds that are collected.
std::string every_text(const BurstOptions& bursts, const ProfileKinds& collected);
std::string lengths_text(const BurstOptions& bursts, const ProfileKinds& collected);

}  // namespace shadowprof
