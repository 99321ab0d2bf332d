// Writes results of instructions and their frequencies.
#include <algorithm>

#include "base/text/text_format.h"
#include "profile/kinds/values/value_text.h"
#include "report/html/page_data.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_values = 500, max_top_values = 6, max_callers = 4, max_caller_top = 3,
                      max_caller_chain = 4;

// Writes "7" and "0x7"; for vectors and floating-point numbers only the readable text.
void write_top(const std::vector<TopValue>& top, ValueType type, std::size_t most,
               JsonWriter& json) {
    json.key("top");
    json.begin_array();
    for (std::size_t i = 0; i < std::min(top.size(), most); ++i) {
        const auto& value = top[i].value;
        const auto [kind, lane_bytes] = canonical(type, static_cast<std::uint32_t>(value.size()));
        const bool is_one_integer =
            kind == ValueType::Kind::integer && lane_bytes == value.size() && value.size() <= 8;
        json.begin_array();
        json.value(value_text(value, type));
        json.value(is_one_integer ? value_hex(value) : "");
        json.value(top[i].count);
        json.value(top[i].error);
        json.end_array();
    }
    json.end_array();
}

void write_invariance(const std::optional<Invariance>& invariance, JsonWriter& json) {
    if (!invariance) return;
    json.member("invariance", invariance->share);
    json.member("invariance_lower_bound", invariance->lower_bound);
}

void write_caller(const PageData& page, const CallerValues& by, ValueType type, JsonWriter& json) {
    json.begin_object();
    json.key("chain");
    json.begin_array();
    for (std::size_t i = 0; i < std::min(by.callers.size(), max_caller_chain); ++i)
        json.value(page.places.place(by.callers[i]));
    json.end_array();
    json.member("count", by.count);
    write_invariance(by.invariance, json);
    write_top(by.top, type, max_caller_top, json);
    json.end_object();
}

}  // namespace

void write_value(const PageData& page, const ValueProfile& value, JsonWriter& json) {
    json.begin_object();
    json.member("at", page.places.place(value.at));
    json.member("operand", printable(value.operand));
    json.member("type", value_type(value.type, value.width_bytes));
    json.member("count", value.count);
    write_invariance(value.invariance, json);
    if (is_constant_by_design(page.annotator.symbols().instruction_text(value.at)))
        json.member("constant", true);
    write_top(value.top, value.type, max_top_values, json);
    // If there is only one value, callers make no difference.
    constexpr double always_the_same = 0.999;
    if (!value.by_caller.empty() && share_of(value.invariance) < always_the_same) {
        json.member("contexts", value.by_caller.size());
        json.key("callers");
        json.begin_array();
        for (std::size_t i = 0; i < std::min(value.by_caller.size(), max_callers); ++i)
            write_caller(page, value.by_caller[i], value.type, json);
        json.end_array();
    }
    json.end_object();
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
