#include <cmath>

#include "report/diff/text/diff_report.h"
#include "report/profile_file/json_writer.h"

namespace shadowprof {
namespace {

// JSON has no infinity, so the relative change of a new entry is null.
std::optional<double> finite(double number) {
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

class DiffJson {
  public:
    DiffJson(const DiffReport& report, ByteSink& sink) : report_(report), json_(sink) {}

    Result<void> write() {
        json_.begin_object();
        json_.member("schema", diff_schema);
        side("base", report_.base);
        side("new", report_.next);
        json_.member("compared_as", report_.diff.as_counts ? "counts" : "shares");
        modules();
        functions();
        json_.array("notes", report_.diff.notes,
                    [&](const std::string& note) { json_.value(note); });
        json_.array("totals", report_.diff.totals, [&](const DiffTotal& each) { total(each); });
        for (const DiffTable& each : report_.diff.tables) table(each);
        json_.array("limits", report_.limits, [&](const LimitResult& each) { limit(each); });
        json_.end_object();
        return json_.finish();
    }

  private:
    void side(std::string_view name, const DiffReportSide& side) {
        json_.key(name);
        json_.begin_object();
        json_.member("path", side.path);
        json_.member("mode", side.profile.sampling.mode);
        json_.member("exact", side.profile.sampling.exact.has_value());
        json_.member("runs", side.profile.run.merged_runs);
        json_.member("samples", side.profile.sampling.samples);
        json_.member("instructions", side.profile.sampling.instructions);
        json_.end_object();
    }

    void modules() {
        json_.array("modules", report_.diff.modules, [&](const MatchedModule& module) {
            json_.begin_object();
            json_.member("path", module.path);
            json_.text_or_null("base_path", module.base_path);
            json_.member("in_base", !module.numbers[0].empty());
            json_.member("in_new", !module.numbers[1].empty());
            json_.member("same_build", module.in_both() && module.same_build);
            json_.end_object();
        });
    }

    void functions() {
        const FunctionMatches& matches = report_.diff.functions;
        json_.key("matched_functions");
        json_.begin_object();
        json_.member("offset", matches.by_offset);
        json_.member("line", matches.by_line);
        json_.member("name", matches.by_name);
        json_.member("gone", matches.only_base);
        json_.member("new", matches.only_next);
        json_.end_object();
    }

    void total(const DiffTotal& total) {
        json_.begin_object();
        json_.member("name", total.name);
        json_.member("base", total.base);
        json_.member("new", total.next);
        json_.member("difference", total.next - total.base);
        json_.end_object();
    }

    void table(const DiffTable& table) {
        json_.key(name(table.kind));
        if (!table.missing.empty()) return json_.null();
        json_.begin_object();
        json_.member("unit", name(table.unit));
        json_.member("compared", table.compared);
        json_.member("changed", table.changed);
        json_.member("noise", table.noise);
        json_.member("same", table.same);
        json_.member("unjudged", table.unjudged);
        json_.member("unmatched_base", table.unmatched[0]);
        json_.member("unmatched_new", table.unmatched[1]);
        json_.key("entries");
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(report_.top, table.entries.size()); ++i)
            entry(table.entries[i]);
        json_.end_array();
        json_.end_object();
    }

    void entry(const DiffEntry& entry) {
        json_.begin_object();
        json_.member("name", entry.name);
        json_.member("module", entry.module);
        json_.member("source", entry.source);
        json_.member("detail", entry.place.detail);
        json_.member("matched_by", name(entry.matched));
        measured("base", entry.base);
        measured("new", entry.next);
        json_.member("difference", entry.difference());
        json_.member("difference_error", entry.error);
        json_.member("relative", finite(entry.relative()));
        json_.member("finding", name(entry.judgement));
        json_.end_object();
    }

    void measured(std::string_view name, const std::optional<Measured>& measured) {
        json_.key(name);
        if (!measured) return json_.null();
        json_.begin_object();
        json_.member("value", measured->value);
        json_.member("error", measured->error);
        json_.end_object();
    }

    void limit(const LimitResult& result) {
        json_.begin_object();
        json_.member("limit", result.limit.text);
        json_.member("verdict", name(result.verdict));
        json_.member("tested", result.tested);
        json_.member("undecided", result.undecided);
        json_.array("entries", result.tests, [&](const LimitTest& test) {
            json_.begin_object();
            json_.member("name", test.name);
            json_.member("unit", name(test.unit));
            json_.member("base", test.base);
            json_.member("new", test.next);
            json_.member("difference", test.difference());
            json_.member("difference_error", test.error);
            json_.member("relative", finite(test.relative));
            json_.member("exceeds", test.exceeds);
            json_.end_object();
        });
        json_.end_object();
    }

    const DiffReport& report_;
    JsonWriter json_;
};

}  // namespace

Result<void> write_diff_json(const DiffReport& report, ByteSink& sink) {
    return DiffJson(report, sink).write();
}

}  // namespace shadowprof
