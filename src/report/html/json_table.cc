#include "report/html/json_table.h"

namespace shadowprof {

void begin_table(JsonWriter& json, std::span<const std::string_view> columns) {
    json.begin_object();
    json.key("columns");
    json.begin_array();
    for (const std::string_view column : columns) json.value(column);
    json.end_array();
    json.key("rows");
    json.begin_array();
}

void end_table(JsonWriter& json) {
    json.end_array();
    json.end_object();
}

void write_shown(JsonWriter& json, const Shown& shown) {
    json.member("shown", shown.shown);
    json.member("total", shown.total);
    json.member("covered", shown.covered);
}

}  // namespace shadowprof
