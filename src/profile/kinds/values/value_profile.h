// Values: which ones instructions produced most often, in all and by calling context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/value_type.h"
#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/values/value_text.h"

namespace shadowprof {

struct TopValue {
    std::vector<std::byte> value;  // little-endian, as wide as the operand
    std::uint64_t count = 0;       // estimated executions that produced it
    double error = 0;              // half width of the 95% confidence interval of `count`
};

// The share of executions that produced the most frequent value
// (profile/kinds/values/invariance.h).
struct Invariance {
    double share = 0;        // the estimate
    double lower_bound = 0;  // 95% bound of the share

    friend bool operator==(const Invariance&, const Invariance&) = default;
};
inline double share_of(const std::optional<Invariance>& invariance) {
    return invariance ? invariance->share : 0;
}

// The values of executions with one stack of callers. Fields are as in ValueProfile.
struct CallerValues {
    std::vector<CodeLocation> callers;  // call sites, innermost first
    std::uint64_t count = 0;
    std::optional<Invariance> invariance = {};
    std::vector<TopValue> top;
    std::optional<double> absent_error = {};
    std::optional<double> compensation = {};
};

// The results of one instruction's destination operand.
struct ValueProfile {
    CodeLocation at;
    std::string operand;  // register name as the instruction writes it: "eax", "xmm3"
    std::uint32_t width_bytes = 8;
    ValueType type = {};      // canonical for the width, in shadowprof's own profiles
    std::uint64_t count = 0;  // executions whose value was recorded
    // Nothing: the most frequent value is not known.
    std::optional<Invariance> invariance = {};
    std::vector<TopValue> top;      // by counting samples, most frequent first
    std::vector<TopValue> top_tnv;  // by a TNV table, for comparison; errors are 0
    // 95% bound on the count of a value that is not in `top`. Nothing: it follows from the errors
    // of `top`, as in all profiles but merged ones.
    std::optional<double> absent_error = {};
    // The most that was assumed and not counted in each count in `top`. Nothing: at most the
    // largest error.
    std::optional<double> compensation = {};
    // By calling context, where the calls in progress are known; hottest first.
    std::vector<CallerValues> by_caller = {};
};

inline auto identity(const ValueProfile& v) {
    return std::tie(v.at, v.operand, v.width_bytes);
}
inline auto identity(const CallerValues& v) {
    return std::tie(v.callers);
}
inline std::uint64_t heat(const ValueProfile& v) {
    return v.count;
}
inline std::uint64_t heat(const CallerValues& v) {
    return v.count;
}
// Estimates add up, their errors by squares (profile/kinds/values/hotlist.h).
void add(ValueProfile& sum, const ValueProfile& v);
void add(CallerValues& sum, const CallerValues& v);
// Subtracts what `earlier` has. The result has no TNV tables.
void subtract_values(std::vector<ValueProfile>& values, const std::vector<ValueProfile>& earlier);

// Visits the fields of values of one type.
class TopValueFields {
  public:
    explicit TopValueFields(WideType type) : type_(type) {}

    void operator()(auto& visitor, Like<TopValue> auto& top) const {
        visitor.encoded("value", top.value, *this, "a hexadecimal number of the operand's width");
        visitor.derived("text", [&] { return value_text(top.value, type_.type); });
        visitor.count("count", top.count);
        visitor.number("error", top.error);
    }

    std::string text(const std::vector<std::byte>& value) const { return value_hex(value); }
    std::optional<std::vector<std::byte>> value(std::string_view text) const {
        return value_from_hex(text, type_.width_bytes);
    }

  private:
    WideType type_;
};

struct TypeName {
    std::string text(WideType type) const { return value_type(type.type, type.width_bytes); }
    std::optional<WideType> value(std::string_view text) const { return value_type_of(text); }
};

// Files of earlier versions have a share without its bound; then the invariance is not known.
template <typename Visitor>
void invariance_fields(Visitor& visitor, Like<std::optional<Invariance>> auto& invariance) {
    std::optional<double> share, lower_bound;
    if (invariance) {
        share = invariance->share;
        lower_bound = invariance->lower_bound;
    }
    visitor.known_number("invariance", share);
    visitor.known_number("invariance_lower_bound", lower_bound);
    if constexpr (Visitor::reads)
        if (share && lower_bound) invariance = Invariance{*share, *lower_bound};
}

// Visits what is known of compensation and of values that are not in `top`.
void limit_fields(auto& visitor, auto& values) {
    visitor.known_number("absent_error", values.absent_error);
    visitor.known_nonzero_number("compensation", values.compensation);
}

template <typename Visitor>
void fields(Visitor& visitor, Like<ValueProfile> auto& v) {
    WideType wide{v.type, v.width_bytes};
    visitor.location("at", v.at);
    visitor.text("operand", v.operand);
    visitor.encoded("type", wide, TypeName{}, "a type of value");
    if constexpr (Visitor::reads) {
        v.type = wide.type;
        v.width_bytes = wide.width_bytes;
    }
    const TopValueFields top_fields(wide);
    visitor.count("count", v.count);
    invariance_fields(visitor, v.invariance);
    visitor.list("top", v.top, top_fields);
    visitor.list("top_tnv", v.top_tnv, top_fields);
    limit_fields(visitor, v);
    visitor.parts("by_caller", v.by_caller, [&](auto& caller, auto& c) {
        caller.locations("callers", c.callers);
        caller.count("count", c.count);
        invariance_fields(caller, c.invariance);
        caller.list("top", c.top, top_fields);
        limit_fields(caller, c);
    });
}

struct ValueList {
    using Record = ValueProfile;
    static constexpr std::string_view name = "values";
    static constexpr KindOption option{.word = "value", .is_usual = true};
    static auto& of(auto& profile) { return profile.values; }
    static constexpr auto subtract_all = subtract_values;
};

}  // namespace shadowprof
