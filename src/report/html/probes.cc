// Writes the results of probes.
#include <algorithm>

#include "base/text/text_format.h"
#include "report/html/page_data.h"
#include "report/lists/probe_text.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_entries = 200, max_top = 10;

class ProbeWriter {
  public:
    ProbeWriter(const PageData& page, const ProbeProfile& probe, JsonWriter& json)
        : page_(page), probe_(probe), json_(json) {}

    void write() {
        json_.begin_object();
        json_.member("name", printable(probe_.name));
        json_.member("text", printable(probe_.text));
        json_.member("reducer", name(probe_.reducer));
        json_.member("keyed", probe_.key != ProbeDatumKind::none);
        json_.member("hits", probe_.hits);
        json_.member("missed", probe_.missed);
        json_.member("left_out", probe_.left_out);
        json_.member("total", probe_.entries.size());
        json_.key("entries");
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(probe_.entries.size(), max_entries); ++i)
            entry(probe_.entries[i]);
        json_.end_array();
        json_.end_object();
    }

  private:
    // Writes a place's number, a number's text, or null.
    void datum(const ProbeDatum& datum, ProbeDatumKind kind) {
        if (const auto* location = std::get_if<CodeLocation>(&datum))
            json_.value(page_.places.place(*location));
        else if (datum.index() == 0)
            json_.null();
        else
            json_.value(datum_text(datum, kind, page_.profile.modules, page_.annotator.symbols()));
    }

    void entry(const ProbeEntry& entry) {
        json_.begin_object();
        json_.key("key");
        datum(entry.key, probe_.key);
        json_.member("count", entry.count);
        if (probe_.reducer == Reducer::sum) sum(entry);
        if (probe_.reducer == Reducer::histogram) histogram(entry);
        if (probe_.reducer == Reducer::hotlist) top(entry);
        json_.end_object();
    }

    void sum(const ProbeEntry& entry) {
        json_.member("sum", fmt::format("{}", entry.sum));
        json_.member("mean", entry.mean());
    }

    void histogram(const ProbeEntry& entry) {
        const bool is_signed = probe_.value == ProbeDatumKind::signed_number;
        json_.member("mean", entry.mean());
        json_.member("least", short_probe_number(entry.least, is_signed));
        json_.member("most", short_probe_number(entry.most, is_signed));
        json_.key("buckets");
        json_.begin_array();
        for (const auto& [bucket, count] : entry.histogram) {
            json_.begin_array();
            json_.value(bucket_text(bucket));
            json_.value(count);
            json_.end_array();
        }
        json_.end_array();
    }

    void top(const ProbeEntry& entry) {
        json_.key("top");
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(entry.top.size(), max_top); ++i) {
            json_.begin_array();
            datum(entry.top[i].value, probe_.value);
            json_.value(entry.top[i].count);
            json_.value(entry.top[i].error);
            json_.end_array();
        }
        json_.end_array();
    }

    const PageData& page_;
    const ProbeProfile& probe_;
    JsonWriter& json_;
};

}  // namespace

void write_probes(const PageData& page, JsonWriter& json) {
    json.begin_object();
    json.key("probes");
    json.begin_array();
    for (const ProbeProfile& probe : page.profile.probes) ProbeWriter(page, probe, json).write();
    json.end_array();
    json.end_object();
}

}  // namespace shadowprof
