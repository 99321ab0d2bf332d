// Address patterns: how the addresses of a load follow each other
// (profile/kinds/addresses/address_patterns.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/hazards/hazard.h"
#include "profile/statistics/count_limits.h"

namespace shadowprof {

// Executions of a load, counted by how its address differs from that of the execution before.
struct AddressMoves {
    std::uint64_t constant = 0;   // same address
    std::uint64_t chased = 0;     // another address, which was itself loaded
    std::uint64_t irregular = 0;  // any other address
    // Executions at a distance, in bytes, from the address before. A run has the most frequent
    // distance only; merged runs have those of all.
    std::map<std::int64_t, std::uint64_t> strides;

    std::uint64_t strided() const;
    // The most frequent distance; 0 if there is none.
    std::int64_t stride() const;
    std::uint64_t count() const { return constant + strided() + chased + irregular; }
    friend bool operator==(const AddressMoves&, const AddressMoves&) = default;
};

inline void add(AddressMoves& sum, const AddressMoves& a) {
    add_moves(sum.constant, a.constant);
    add_moves(sum.chased, a.chased);
    add_moves(sum.irregular, a.irregular);
    for (const auto& [distance, count] : a.strides) add_moves(sum.strides[distance], count);
}

inline void subtract(AddressMoves& moves, const AddressMoves& earlier) {
    subtract(moves.constant, earlier.constant);
    subtract(moves.chased, earlier.chased);
    subtract(moves.irregular, earlier.irregular);
    subtract(moves.strides, earlier.strides);
}

// The patterns by their names in profiles, with their counts.
struct PatternRow {
    std::string_view name;
    std::uint64_t (*count)(const AddressMoves&);
};
inline constexpr std::array<PatternRow, 4> pattern_rows = {{
    {"constant", [](const AddressMoves& moves) { return moves.constant; }},
    {"stride", [](const AddressMoves& moves) { return moves.strided(); }},
    {"chase", [](const AddressMoves& moves) { return moves.chased; }},
    {"irregular", [](const AddressMoves& moves) { return moves.irregular; }},
}};

// The pattern that most executions have, and their share of all.
struct MainPattern {
    const PatternRow* row = nullptr;
    double share = 0;
};
inline MainPattern main_pattern(const AddressMoves& moves) {
    const PatternRow* most = pattern_rows.data();
    for (const PatternRow& row : pattern_rows)
        if (row.count(moves) > most->count(moves)) most = &row;
    const auto all = moves.count();
    const auto count = static_cast<double>(most->count(moves));
    return {most, all == 0 ? 0 : count / static_cast<double>(all)};
}

template <typename Visitor>
void fields(Visitor& visitor, Like<AddressMoves> auto& m) {
    auto stride = m.stride();
    auto strided = m.strided();
    visitor.derived("pattern", [&] { return main_pattern(m).row->name; });
    visitor.integer("stride", stride);
    visitor.derived("count", [&] { return m.count(); });
    visitor.derived("share", [&] { return main_pattern(m).share; });
    visitor.object("counts", [&](auto& counts) {
        counts.count_up_to("constant", m.constant, max_moves);
        counts.count_up_to("stride", strided, max_moves);
        counts.count_up_to("chase", m.chased, max_moves);
        counts.count_up_to("irregular", m.irregular, max_moves);
    });
    if constexpr (Visitor::reads)
        if (strided != 0) m.strides[stride] = strided;
    visitor.pairs_of_several(
        "strides", m.strides,
        PairLimits<std::int64_t>{.max_count = max_moves,
                                 .what = "a list of pairs of distances and counts"});
}

// The moves of one load, where references were traced.
struct AddressPattern {
    CodeLocation at;
    AddressMoves moves;

    friend bool operator==(const AddressPattern&, const AddressPattern&) = default;
};

inline auto identity(const AddressPattern& a) {
    return std::tie(a.at);
}
inline std::uint64_t heat(const AddressPattern& a) {
    return a.moves.count();
}
inline void add(AddressPattern& sum, const AddressPattern& a) {
    add(sum.moves, a.moves);
}

inline void subtract(AddressPattern& pattern, const AddressPattern& earlier) {
    subtract(pattern.moves, earlier.moves);
}

void fields(auto& visitor, Like<AddressPattern> auto& a) {
    visitor.location("at", a.at);
    fields(visitor, a.moves);
}

struct AddressList {
    using Record = AddressPattern;
    static constexpr std::string_view name = "addresses";
    using CollectedWith = HazardList;
    static auto& of(auto& profile) { return profile.addresses; }
};

}  // namespace shadowprof
