// Writes results of instructions and their frequencies.
#include <algorithm>
#include <cmath>

#include "base/text/text_format.h"
#include "profile/kinds/values/value_text.h"
#include "profile/statistics/batch_means.h"
#include "report/html/page_data.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_values = 500, max_top_values = 6, max_callers = 4, max_caller_top = 3,
                      max_caller_chain = 4;

// Rows of a value's text, its count and the count's error.
void write_top(const std::vector<TopValue>& top, ValueType type, std::size_t most,
               JsonWriter& json) {
    json.begin_array();
    for (std::size_t i = 0; i < std::min(top.size(), most); ++i) {
        json.begin_array();
        json.value(value_text(top[i].value, type));
        json.value(top[i].count);
        json.value(tenths_upwards(top[i].error));
        json.end_array();
    }
    json.end_array();
}

// Without digits that no view shows; a lower bound must not become larger.
void write_invariance(const std::optional<Invariance>& invariance, JsonWriter& json) {
    constexpr double steps = 1e4;
    json.value(invariance ? std::optional(std::round(invariance->share * steps) / steps)
                          : std::nullopt);
    json.value(invariance ? std::optional(std::floor(invariance->lower_bound * steps) / steps)
                          : std::nullopt);
}

void write_caller(const PageData& page, const CallerValues& by, ValueType type, JsonWriter& json) {
    json.begin_array();
    json.begin_array();
    for (std::size_t i = 0; i < std::min(by.callers.size(), max_caller_chain); ++i)
        json.value(page.places.place(by.callers[i]));
    json.end_array();
    json.value(by.count);
    write_top(by.top, type, max_caller_top, json);
    json.end_array();
}

}  // namespace

void write_value(const PageData& page, const ValueProfile& value, JsonWriter& json) {
    json.begin_array();
    json.value(page.places.place(value.at));
    json.value(printable(value.operand));
    json.value(value_type(value.type, value.width_bytes));
    json.value(value.count);
    write_invariance(value.invariance, json);
    json.value(is_constant_by_design(page.annotator.symbols().instruction_text(value.at)) ? 1 : 0);
    write_top(value.top, value.type, max_top_values, json);
    // If there is only one value, callers make no difference.
    constexpr double always_the_same = 0.999;
    if (!value.by_caller.empty() && share_of(value.invariance) < always_the_same) {
        json.value(value.by_caller.size());
        json.begin_array();
        for (std::size_t i = 0; i < std::min(value.by_caller.size(), max_callers); ++i)
            write_caller(page, value.by_caller[i], value.type, json);
        json.end_array();
    }
    json.end_array();
}

void write_values(const PageData& page, JsonWriter& json) {
    const Profile& profile = page.profile;
    std::vector<const ValueProfile*> kept;
    double all = 0, covered = 0;
    std::size_t constants = 0;
    for (const ValueProfile& value : profile.values) {
        if (is_constant_by_design(page.annotator.symbols().instruction_text(value.at))) {
            ++constants;
            continue;
        }
        all += static_cast<double>(value.count);
        if (kept.size() == max_values) continue;
        kept.push_back(&value);
        covered += static_cast<double>(value.count);
    }
    std::map<CodeLocation, double> gains;
    for (const CallerDependence& dependence :
         caller_dependent_values(profile, profile.values.size()))
        gains[dependence.value->at] = dependence.gain;
    json.begin_object();
    write_shown(json,
                {kept.size(), profile.values.size() - constants, all > 0 ? covered / all : 1});
    json.member("constants", constants);
    json.key("values");
    json.begin_array();
    for (const ValueProfile* value : kept) write_value(page, *value, json);
    json.end_array();
    json.key("gains");
    json.begin_array();
    for (const ValueProfile* value : kept) {
        const auto found = gains.find(value->at);
        json.value(found == gains.end() ? 0.0 : found->second);
    }
    json.end_array();
    json.end_object();
}

}  // namespace shadowprof
