// Memory hazards: accesses that take a slow path of the processor
// (profile/kinds/hazards/hazards.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

enum class HazardKind : std::uint8_t { blocked, aliased, line_split, page_split };
inline constexpr std::size_t hazard_kinds = 4;
// Names in profiles, indexed by HazardKind.
inline constexpr std::array<std::string_view, hazard_kinds> hazard_kind_names = {
    "store-forward-blocked", "4k-aliasing", "line-split", "page-split"};
inline std::string_view name(HazardKind kind) {
    return hazard_kind_names.at(static_cast<std::size_t>(kind));
}
// True for hazards of a load behind a store, false for those of one access.
constexpr bool is_pair(HazardKind kind) {
    return kind == HazardKind::blocked || kind == HazardKind::aliased;
}

struct Hazard {
    HazardKind kind = HazardKind::blocked;
    CodeLocation first;            // the store of a pair, or the same as `second`
    CodeLocation second;           // the load of a pair, or the access that splits
    std::uint64_t count = 0;       // executions of `second` with this hazard
    std::uint64_t executions = 0;  // executions of `second` while references were traced

    friend bool operator==(const Hazard&, const Hazard&) = default;
};

inline auto identity(const Hazard& h) {
    return std::tie(h.kind, h.first, h.second);
}
inline std::uint64_t heat(const Hazard& h) {
    return h.count;
}
inline void add(Hazard& sum, const Hazard& h) {
    sum.count += h.count;
    sum.executions += h.executions;
}

inline void subtract(Hazard& hazard, const Hazard& earlier) {
    subtract(hazard.count, earlier.count);
    subtract(hazard.executions, earlier.executions);
}

template <Like<Hazard> T>
void fields(auto& visitor, T& h) {
    visitor.choice("kind", h.kind, hazard_kind_names);
    const bool is_of_two = is_pair(h.kind);
    visitor.location_if(is_of_two, "store", h.first);
    visitor.location_if(is_of_two, "load", h.second);
    visitor.location_if(!is_of_two, "at", h.second);
    if constexpr (!std::is_const_v<T>)
        if (!is_of_two) h.first = h.second;
    visitor.count("count", h.count);
    visitor.count("executions", h.executions);
}

struct HazardList {
    using Record = Hazard;
    static constexpr std::string_view name = "hazards";
    static constexpr KindOption option{.word = "hazard"};
    static auto& of(auto& profile) { return profile.hazards; }
};

}  // namespace shadowprof
