// The changes between two profiles: tables of entries, ranked by the size of the change.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/diff/interval.h"
#include "report/diff/location_matcher.h"

namespace shadowprof {

enum class DiffKind : std::uint8_t {
    functions,
    entries,
    edges,
    paths,
    values,
    levels,
    loads,
    mispredictions,
    l1_misses,
    l2_misses,
    l3_misses
};
// Stable names, for tables in JSON.
std::string_view name(DiffKind kind);
// Whether the entries are functions.
constexpr bool is_by_function(DiffKind kind) {
    return kind == DiffKind::functions || kind == DiffKind::entries ||
           kind >= DiffKind::mispredictions;
}

// The unit of Measured::value. A share is in [0, 1].
enum class DiffUnit : std::uint8_t { instructions, executions, share, cycles, accesses, bytes };
std::string_view name(DiffUnit unit);

enum class Judgement : std::uint8_t {
    same,
    noise,    // within the interval of the difference
    changed,  // outside of that interval
    added,    // only in NEW, and more often than chance explains
    gone,     // the reverse
    unjudged  // an error is unknown
};
std::string_view name(Judgement judgement);
constexpr bool is_change(Judgement judgement) {
    return judgement == Judgement::changed || judgement == Judgement::added ||
           judgement == Judgement::gone;
}

// Where an entry is in one of the profiles.
struct DiffLocation {
    DiffSide side = DiffSide::next;
    std::vector<CodeLocation> at;  // both ends of an edge, or the blocks of a path
    std::string detail;            // an edge's kind, operand and values, or levels; may be empty
};

struct DiffEntry {
    DiffLocation place;
    // As in the profiles; may hold any bytes.
    std::string name;
    std::string module;  // path
    std::string source;  // file and line; empty if unknown, and for functions
    MatchedBy matched = MatchedBy::address;
    std::optional<Measured> base, next;  // nothing: the profile has no such entry
    // For a missing entry 0, with the other entry's error.
    Measured base_or_zero, next_or_zero;
    std::optional<double> error;  // half the width of the difference's interval
    Judgement judgement = Judgement::same;
    double importance = 1;  // a factor that makes changes of different entries comparable

    // The number by which entries are ranked.
    double weight() const;
    double difference() const { return next_or_zero.value - base_or_zero.value; }
    // The change as a share of BASE; infinite if BASE has nothing.
    double relative() const;
};

struct DiffTable {
    DiffKind kind = DiffKind::functions;
    DiffUnit unit = DiffUnit::share;
    std::string missing;             // why there is no table; else empty
    std::array<double, 2> totals{};  // by DiffSide: the totals of which shares are computed
    std::size_t degrees_of_freedom = 3;
    std::size_t compared = 0;  // number of all entries
    std::size_t changed = 0, noise = 0, same = 0, unjudged = 0;
    std::array<std::size_t, 2> unmatched{};  // by DiffSide: entries left out, as their counterpart
                                             // cannot be determined
    std::vector<DiffEntry> entries;  // changes first, the largest first; all functions and entries,
                                     // else only the first ones
};

// A number for the whole run.
struct DiffTotal {
    std::string name;  // "instructions", "cache.l1-misses", "syscalls.read.bytes"
    double base = 0, next = 0;
    bool is_detail = false;  // of interest to readers only if it changed
};

struct Diff {
    bool as_counts = false;  // whether both are exact and compared by counts of a run; else by
                             // shares
    std::vector<DiffTotal> totals;  // for exact profiles
    std::string no_totals;          // why there are none
    // Why there are none of those whose names begin with this word, or with the first and end with
    // the second of two words: "cache", "syscalls.bytes".
    std::map<std::string, std::string> missing_totals;
    std::vector<DiffTable> tables;  // in the order of DiffKind
    std::vector<MatchedModule> modules;
    FunctionMatches functions;
    std::vector<std::string> notes;  // what the reader must know; may hold any bytes

    const DiffTable& table(DiffKind kind) const { return tables[static_cast<std::size_t>(kind)]; }
};

}  // namespace shadowprof
