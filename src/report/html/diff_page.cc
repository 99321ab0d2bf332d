#include "report/html/diff_page.h"

#include <algorithm>
#include <span>

#include "base/text/text_format.h"
#include "report/diff/text/diff_words.h"
#include "report/html/page_element.h"
#include "report/html/page_template.h"
#include "report/profile_file/json_writer.h"

namespace shadowprof {
namespace {

// The phrases that the page shares with the other formats.
class DiffPageWords {
  public:
    DiffPageWords(const DiffReport& report, ByteSink& sink) : report_(report), json_(sink) {}

    Result<void> write() {
        json_.begin_object();
        json_.member("base", printable(side_words(report_.base)));
        json_.member("new", printable(side_words(report_.next)));
        json_.array("matching", matching_words(report_.diff),
                    [&](const std::string& words) { json_.value(printable(words)); });
        json_.array("tables", report_.diff.tables, [&](const DiffTable& each) { table(each); });
        json_.array("limits", report_.limits, [&](const LimitResult& result) {
            json_.value(printable(limit_words(result)));
        });
        json_.end_object();
        return json_.finish();
    }

  private:
    void table(const DiffTable& table) {
        json_.begin_object();
        json_.member("name", name(table.kind));
        json_.member("title", title(table.kind));
        json_.member("by_function", is_by_function(table.kind));
        json_.array("names",
                    std::span(table.entries).first(std::min(report_.top, table.entries.size())),
                    [&](const DiffEntry& each) { json_.value(shown_name(table.kind, each)); });
        json_.member("missing", printable(table.missing));
        json_.member("counts", table.missing.empty() ? counts_words(table) : std::string{});
        json_.end_object();
    }

    const DiffReport& report_;
    JsonWriter json_;
};

}  // namespace

Result<void> write_diff_page(const DiffReport& report, ByteSink& sink) {
    TRY(sink.write(diff_page_template().before_data));
    TRY(write_page_element(sink, "diff",
                           [&](ByteSink& json) { return write_diff_json(report, json); }));
    TRY(write_page_element(sink, "words",
                           [&](ByteSink& json) { return DiffPageWords(report, json).write(); }));
    return sink.write(diff_page_template().behind_data);
}

}  // namespace shadowprof
