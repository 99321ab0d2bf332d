// Kinds of profiles as tables of plain cells, for kinds that views know nothing more of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/kinds/profile_kinds.h"

namespace shadowprof {

// A field of a record: text, a number or a place, if it has one, or a list's places.
struct RecordCell {
    std::string name;  // of the field
    std::variant<std::string, std::optional<std::uint64_t>, std::optional<CodeLocation>,
                 std::vector<CodeLocation>>
        content;
};

struct RecordRow {
    std::uint64_t heat = 0;
    std::vector<RecordCell> cells;  // each row of a table has cells of the same names

    // The first place that it has; nothing if there is none.
    std::optional<CodeLocation> at() const;
};

struct KindTable {
    std::string_view word;  // KindOption::word
    TableNames names;
    std::vector<RecordRow> rows;  // the hottest first
};

// The tables of all kinds with TableNames. Those that the profile has nothing of have no rows.
std::vector<KindTable> kind_tables(const Profile& profile);
// Whether one of them has rows, without making any.
bool has_kind_tables(const Profile& profile);

}  // namespace shadowprof
