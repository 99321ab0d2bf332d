// Bursts inside samples. Code between them is executed and not counted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "profile/flow/event_bursts.h"
#include "profile/kinds/profile_kinds.h"

namespace shadowprof {

struct BurstOptions {
    BurstPlan plan;                      // for edges, paths and calls, where they are collected
    std::uint64_t value_length = 0;      // in events, approximately; 0: values are not collected
    std::uint64_t reference_length = 0;  // the same for hazards, address patterns and streams
    std::uint64_t value_every = 0;       // events between bursts of values; 0: plan.every
    std::uint64_t reference_every = 0;   // events between bursts of references; 0: plan.every

    std::uint64_t between_values() const { return value_every == 0 ? plan.every : value_every; }
    std::uint64_t between_references() const {
        return reference_every == 0 ? plan.every : reference_every;
    }

    friend bool operator==(const BurstOptions&, const BurstOptions&) = default;
};

// A kind of profile that counts in such bursts, and its index in bursted_rows. Hazards and streams
// share their bursts, as both come from the same references.
enum class BurstedKind : std::uint8_t { edge, path, call, value, hazard, stream };
inline constexpr std::size_t bursted_kinds = 6;

struct BurstedRow {
    std::string_view name;
    ProfileKinds kind;
    ProfileKinds same_bursts;  // the kind has bursts if one of these is collected
    std::uint64_t usual_length;
    // Return the fields of `bursts` for the kind: its length, and the events between its own
    // bursts.
    std::uint64_t& (*length)(BurstOptions& bursts);
    std::uint64_t& (*own_every)(BurstOptions& bursts);
    TracedBursts (*counted)(const BurstCounts& counts);
};

// The kinds that need traced references.
inline constexpr ProfileKinds reference_kinds = ProfileKinds::of<HazardList, StreamList>();
// These, and the kind that needs all references of a run, which only exact mode traces.
inline constexpr ProfileKinds exact_reference_kinds = reference_kinds.with<CacheList>();

namespace bursted {

template <typename Kind, BurstKind planned>
constexpr BurstedRow planned_row(std::uint64_t usual_length) {
    constexpr auto kind = ProfileKinds::of<Kind>();
    return {Kind::option.word,
            kind,
            kind,
            usual_length,
            [](BurstOptions& w) -> std::uint64_t& { return w.plan.lengths[planned]; },
            [](BurstOptions& w) -> std::uint64_t& { return w.plan.own_every[planned]; },
            [](const BurstCounts& c) {
                return TracedBursts{c.begun[planned], c.events_on[planned]};
            }};
}

template <typename Kind>
constexpr BurstedRow reference_row(std::uint64_t usual_length) {
    return {Kind::option.word,
            ProfileKinds::of<Kind>(),
            reference_kinds,
            usual_length,
            [](BurstOptions& w) -> std::uint64_t& { return w.reference_length; },
            [](BurstOptions& w) -> std::uint64_t& { return w.reference_every; },
            [](const BurstCounts& c) { return c.references; }};
}

constexpr BurstedRow value_row(std::uint64_t usual_length) {
    constexpr auto kind = ProfileKinds::of<ValueList>();
    return {ValueList::option.word,
            kind,
            kind,
            usual_length,
            [](BurstOptions& w) -> std::uint64_t& { return w.value_length; },
            [](BurstOptions& w) -> std::uint64_t& { return w.value_every; },
            [](const BurstCounts& c) { return c.values; }};
}

}  // namespace bursted

// Indexed by BurstedKind. Streams come after hazards, so that their length is used if both are
// collected.
inline constexpr std::array<BurstedRow, bursted_kinds> bursted_rows = {
    bursted::planned_row<EdgeList, BurstKind::edge>(1),
    bursted::planned_row<PathList, BurstKind::path>(1),
    bursted::planned_row<CallList, BurstKind::call>(1),
    bursted::value_row(10),
    bursted::reference_row<HazardList>(100),
    bursted::reference_row<StreamList>(1000)};

constexpr const BurstedRow& row_of(BurstedKind kind) {
    return bursted_rows[static_cast<std::size_t>(kind)];
}
static_assert(row_of(BurstedKind::edge).name == EdgeList::option.word);
static_assert(row_of(BurstedKind::path).name == PathList::option.word);
static_assert(row_of(BurstedKind::call).name == CallList::option.word);
static_assert(row_of(BurstedKind::value).name == ValueList::option.word);
static_assert(row_of(BurstedKind::hazard).name == HazardList::option.word);
static_assert(row_of(BurstedKind::stream).name == StreamList::option.word);

// Returns `bursts` without those that none of `kinds` uses: their lengths are 0.
inline BurstOptions only(BurstOptions bursts, const ProfileKinds& kinds) {
    for (const BurstedRow& row : bursted_rows)
        if (!kinds.has_any_of(row.same_bursts)) row.length(bursts) = 0;
    return bursts;
}

}  // namespace shadowprof
