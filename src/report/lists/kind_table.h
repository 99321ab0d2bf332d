// Tables of plain cells, for kinds that views show in a generic way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/kinds/profile_kinds.h"

namespace shadowprof {

// A field of a record: a text, a number or place that may be missing, or a list of places.
struct RecordCell {
    std::string name;  // name of the field
    std::variant<std::string, std::optional<std::uint64_t>, std::optional<CodeLocation>,
                 std::vector<CodeLocation>>
        content;
};

struct RecordRow {
    std::uint64_t heat = 0;         // what rows are sorted by: the cost, or the count
    std::uint64_t count = 0;        // the record's own heat, which the profile is sorted by
    std::vector<RecordCell> cells;  // each row of a table has cells of the same names

    // The record's first place; nothing if it has none.
    std::optional<CodeLocation> at() const;
};

struct KindTable {
    std::string_view word;  // KindOption::word
    TableNames names;
    std::string costs;            // what the costs are, if rows are sorted by these; else empty
    std::vector<RecordRow> rows;  // the hottest first
};

// Returns the tables of all kinds with TableNames. If the profile has nothing of a kind, its table
// has no rows.
std::vector<KindTable> kind_tables(const Profile& profile);
// Whether one of the tables has rows. Does not build them.
bool has_kind_tables(const Profile& profile);

}  // namespace shadowprof
