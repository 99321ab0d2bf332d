// Tables in the page's data.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "report/profile_file/json_writer.h"

namespace shadowprof {

// A table is an object with `columns`, the names, and `rows`, arrays.
void begin_table(JsonWriter& json, std::span<const std::string_view> columns);
inline void begin_table(JsonWriter& json, std::initializer_list<std::string_view> columns) {
    begin_table(json, std::span(columns.begin(), columns.size()));
}
void end_table(JsonWriter& json);

// How much of a list is in the page: the numbers of entries "shown" and in "total", and "covered",
// the share of the counts that the shown entries have.
struct Shown {
    std::size_t shown = 0, total = 0;
    double covered = 1;
};
void write_shown(JsonWriter& json, const Shown& shown);

}  // namespace shadowprof
