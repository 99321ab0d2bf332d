// What changed between two profiles: tables of entries, ranked by how much.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/diff/interval.h"
#include "report/diff/place_matcher.h"

namespace shadowprof {

enum class DiffKind : std::uint8_t { functions, entries, edges, paths, values, levels, loads };
// Stable names: of tables in JSON.
std::string_view name(DiffKind kind);

// The unit of Measured::value. A share is in [0, 1].
enum class DiffUnit : std::uint8_t { instructions, executions, share, cycles };
std::string_view name(DiffUnit unit);

enum class Judgement : std::uint8_t {
    same,
    noise,    // within the interval of the difference
    changed,  // outside of it
    added,    // only NEW has it, and more often than chance explains
    gone,     // the reverse
    unjudged  // an error is not known
};
std::string_view name(Judgement judgement);
constexpr bool is_change(Judgement judgement) {
    return judgement == Judgement::changed || judgement == Judgement::added ||
           judgement == Judgement::gone;
}

// Where an entry is in one of the profiles.
struct DiffPlace {
    DiffSide side = DiffSide::next;
    std::vector<CodeLocation> at;  // of an edge both ends, of a path its blocks
    std::string detail;            // kind of an edge, operand and values, levels; may be empty
};

struct DiffEntry {
    DiffPlace place;
    // As the profiles have them: they may hold anything.
    std::string name;
    std::string module;  // path
    std::string source;  // file and line; empty if unknown, and of functions
    MatchedBy matched = MatchedBy::address;
    std::optional<Measured> base, next;  // nothing: that profile has no such entry
    // Where an entry is lacking: 0, and as uncertain as the other one.
    Measured base_or_zero, next_or_zero;
    std::optional<double> error;  // half the width of the difference's interval
    Judgement judgement = Judgement::same;
    double importance = 1;  // by which changes of different entries are made comparable

    // What entries are ranked by.
    double weight() const;
    double difference() const { return next_or_zero.value - base_or_zero.value; }
    // The change as a share of BASE; infinite for what BASE has nothing of.
    double relative() const;
};

struct DiffTable {
    DiffKind kind = DiffKind::functions;
    DiffUnit unit = DiffUnit::share;
    std::string missing;             // why there is no table; else empty
    std::array<double, 2> totals{};  // by DiffSide, of what shares are shares of
    std::size_t degrees_of_freedom = 3;
    std::size_t compared = 0;  // entries in all
    std::size_t changed = 0, noise = 0, same = 0, unjudged = 0;
    std::array<std::size_t, 2> unmatched{};  // by DiffSide: left out, as nobody can say what
                                             // they are in the other profile
    std::vector<DiffEntry> entries;  // changes first, the largest first; of functions and entries
                                     // all, else the first ones
};

// One number for the whole run.
struct DiffTotal {
    std::string_view name;  // "instructions", "edges", "calls"
    double base = 0, next = 0;
};

struct Diff {
    bool as_counts = false;         // both are exact: counts of a run; else shares
    std::vector<DiffTotal> totals;  // of exact profiles
    std::string no_totals;          // why there are none
    std::vector<DiffTable> tables;  // in the order of DiffKind
    std::vector<MatchedModule> modules;
    FunctionMatches functions;
    std::vector<std::string> notes;  // what a reader must know; may hold anything

    const DiffTable& table(DiffKind kind) const { return tables[static_cast<std::size_t>(kind)]; }
};

}  // namespace shadowprof
