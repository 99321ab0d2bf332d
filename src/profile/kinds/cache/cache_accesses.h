// Accesses to memory, and how often a model of the caches misses (profile/kinds/cache/caches.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

// An access that crosses a line counts once, and misses if one of its lines does. Where the model
// has fewer than three levels, the misses of the last one are those of the others as well.
struct CacheCounts {
    std::uint64_t accesses = 0;
    std::uint64_t l1_misses = 0, l2_misses = 0, l3_misses = 0;

    friend bool operator==(const CacheCounts&, const CacheCounts&) = default;
};

inline void add(CacheCounts& sum, const CacheCounts& c) {
    sum.accesses += c.accesses;
    sum.l1_misses += c.l1_misses;
    sum.l2_misses += c.l2_misses;
    sum.l3_misses += c.l3_misses;
}
inline void subtract(CacheCounts& counts, const CacheCounts& earlier) {
    subtract(counts.accesses, earlier.accesses);
    subtract(counts.l1_misses, earlier.l1_misses);
    subtract(counts.l2_misses, earlier.l2_misses);
    subtract(counts.l3_misses, earlier.l3_misses);
}

// The accesses of one instruction.
struct CacheAccesses {
    CodeLocation at;
    std::uint64_t accesses = 0;
    std::uint64_t l1_misses = 0, l2_misses = 0, l3_misses = 0;
    CacheCounts stores = {};  // those of these that only write

    friend bool operator==(const CacheAccesses&, const CacheAccesses&) = default;
};

inline auto identity(const CacheAccesses& c) {
    return std::tie(c.at);
}
inline std::uint64_t heat(const CacheAccesses& c) {
    return c.l1_misses;
}
inline bool is_empty(const CacheAccesses& c) {
    return c.accesses == 0;
}
inline void add(CacheAccesses& sum, const CacheAccesses& c) {
    sum.accesses += c.accesses;
    sum.l1_misses += c.l1_misses;
    sum.l2_misses += c.l2_misses;
    sum.l3_misses += c.l3_misses;
    add(sum.stores, c.stores);
}
inline void subtract(CacheAccesses& accesses, const CacheAccesses& earlier) {
    subtract(accesses.accesses, earlier.accesses);
    subtract(accesses.l1_misses, earlier.l1_misses);
    subtract(accesses.l2_misses, earlier.l2_misses);
    subtract(accesses.l3_misses, earlier.l3_misses);
    subtract(accesses.stores, earlier.stores);
}

void fields(auto& visitor, Like<CacheAccesses> auto& c) {
    visitor.location("at", c.at);
    visitor.count("accesses", c.accesses);
    visitor.count("l1_misses", c.l1_misses);
    visitor.count("l2_misses", c.l2_misses);
    visitor.count("l3_misses", c.l3_misses);
    visitor.added_count("stores", c.stores.accesses);
    visitor.added_count("l1_store_misses", c.stores.l1_misses);
    visitor.added_count("l2_store_misses", c.stores.l2_misses);
    visitor.added_count("l3_store_misses", c.stores.l3_misses);
}

// When lines enter a level and leave the levels before it.
enum class CacheFill : std::uint8_t {
    non_inclusive,  // a line enters with each miss; the levels before it keep what it evicts
    inclusive,      // the levels before it lose what it evicts
    victim          // a line enters when the level before evicts it, and leaves with a hit
};
inline constexpr std::array<std::string_view, 3> cache_fill_names = {"non-inclusive", "inclusive",
                                                                     "victim"};

struct CacheLevel {
    std::string name;
    std::uint64_t size_bytes = 0;
    std::uint64_t ways = 0;
    std::uint64_t line_bytes = 0;  // the same in all levels
    CacheFill fill = CacheFill::non_inclusive;

    std::uint64_t sets() const { return size_bytes / (ways * line_bytes); }
    friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

void fields(auto& visitor, Like<CacheLevel> auto& l) {
    visitor.text("name", l.name);
    visitor.count("size_bytes", l.size_bytes);
    visitor.count("ways", l.ways);
    visitor.count("line_bytes", l.line_bytes);
    visitor.choice("fill", l.fill, cache_fill_names);
}

// The parameters of the model.
struct CacheModel {
    std::string source;              // "host", or "defaults" where the host does not say
    std::vector<CacheLevel> levels;  // at least one, the first one first

    friend bool operator==(const CacheModel&, const CacheModel&) = default;
};

void fields(auto& visitor, Like<CacheModel> auto& m) {
    visitor.text("source", m.source);
    visitor.list("levels", m.levels, [](auto& inner, auto& level) { fields(inner, level); });
}

struct CacheList {
    using Record = CacheAccesses;
    static constexpr std::string_view name = "cache";
    static constexpr KindOption option{.word = "cache"};
    static constexpr TableNames table{
        .title = "Accesses to memory, by what their modelled misses cost", .plural = "accesses"};
    static auto& of(auto& profile) { return profile.cache; }
    static constexpr std::string_view host_name = "cache_model";
    static auto& host_of(auto& profile) { return profile.cache_model; }
    static constexpr std::string_view unequal_hosts =
        "accesses of caches of different sizes were added up";
};

}  // namespace shadowprof
