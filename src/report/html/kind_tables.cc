// Writes the kinds of profiles without a view of their own, as tables of their fields.
#include <algorithm>

#include "base/text/text_format.h"
#include "report/html/page_data.h"
#include "report/lists/kind_table.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_rows = 300;

// Indexed by the alternatives of RecordCell::content.
constexpr std::string_view cell_types[] = {"text", "count", "place", "places"};

void write_columns(const RecordRow& row, JsonWriter& json) {
    json.key("columns");
    json.begin_array();
    for (const RecordCell& cell : row.cells) {
        json.begin_object();
        json.member("name", cell.name);
        json.member("type", cell_types[cell.content.index()]);
        json.end_object();
    }
    json.end_array();
}

class CellWriter {
  public:
    CellWriter(const PageData& page, JsonWriter& json) : page_(page), json_(json) {}

    void operator()(const std::string& text) { json_.value(printable(text)); }
    void operator()(const std::optional<std::uint64_t>& count) {
        count ? json_.value(*count) : json_.null();
    }
    void operator()(const std::optional<CodeLocation>& at) {
        at ? json_.value(page_.places.place(*at)) : json_.null();
    }
    void operator()(const std::vector<CodeLocation>& list) {
        json_.begin_array();
        for (const CodeLocation at : list) json_.value(page_.places.place(at));
        json_.end_array();
    }

  private:
    const PageData& page_;
    JsonWriter& json_;
};

void write_rows(const PageData& page, std::span<const RecordRow> rows, JsonWriter& json) {
    json.key("rows");
    json.begin_array();
    for (const RecordRow& row : rows) {
        json.begin_array();
        json.value(row.heat);
        for (const RecordCell& cell : row.cells) std::visit(CellWriter(page, json), cell.content);
        json.end_array();
    }
    json.end_array();
}

void write_table(const PageData& page, const KindTable& table, JsonWriter& json) {
    const auto shown = std::span(table.rows).first(std::min(table.rows.size(), max_rows));
    double all = 0, covered = 0;
    for (const RecordRow& row : table.rows) all += static_cast<double>(row.heat);
    for (const RecordRow& row : shown) covered += static_cast<double>(row.heat);
    json.begin_object();
    json.member("word", table.word);
    json.member("title", table.names.title);
    json.member("plural", table.names.plural);
    write_shown(json, {shown.size(), table.rows.size(), all > 0 ? covered / all : 1});
    json.member("sum", all);
    json.member("is_time", table.names.is_time);
    json.text_or_null("costs", table.costs);
    write_columns(table.rows.front(), json);
    write_rows(page, shown, json);
    json.end_object();
}

}  // namespace

void write_kind_tables(const PageData& page, JsonWriter& json) {
    json.begin_object();
    json.key("tables");
    json.begin_array();
    for (const KindTable& table : kind_tables(page.profile))
        if (!table.rows.empty()) write_table(page, table, json);
    json.end_array();
    json.end_object();
}

}  // namespace shadowprof
