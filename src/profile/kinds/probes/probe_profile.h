// The results of probes (docs/probes.md) in a profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "probe/reducer.h"
#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/probes/probe_numbers.h"

namespace shadowprof {

// A value or key of a probe: none, a number or a place in code.
using ProbeDatum = std::variant<std::monostate, std::uint64_t, CodeLocation>;

// The type of a probe's values or of its keys. Signed numbers are in two's complement.
enum class ProbeDatumKind : std::uint8_t { none, number, signed_number, location };
inline constexpr std::array<std::string_view, 4> probe_datum_names = {"none", "number", "signed",
                                                                      "location"};

// Whether `datum` is of this kind.
inline bool is_of(const ProbeDatum& datum, ProbeDatumKind kind) {
    constexpr std::array<std::size_t, 4> alternatives = {0, 1, 1, 2};
    return datum.index() == alternatives[static_cast<std::size_t>(kind)];
}

// Counts of values by powers of two: bucket 0 holds 0, bucket b holds 2^(b-1) to 2^b - 1, and
// bucket -b their negatives.
using ProbeHistogram = std::map<int, std::uint64_t>;
inline constexpr int widest_bucket = 64;
int bucket_of(std::uint64_t value, bool is_signed);

ProbeSum wrapping_sum(ProbeSum a, ProbeSum b);

struct ProbeTop {
    ProbeDatum value;
    std::uint64_t count = 0;  // estimated, as in TopValue
    double error = 0;         // half width of the 95% confidence interval of `count`

    friend bool operator==(const ProbeTop&, const ProbeTop&) = default;
};

// The events of one key.
struct ProbeEntry {
    ProbeDatum key;
    std::uint64_t count = 0;  // events with a value
    ProbeSum sum = 0;         // for Reducer::sum and histogram
    ProbeHistogram histogram = {};
    std::uint64_t least = 0, most = 0;  // for histogram, where count != 0
    std::vector<ProbeTop> top = {};     // for hotlist, most frequent first
    double absent_error = 0;            // 95% bound on the count of a value that is not in `top`

    // The mean of the values; 0 if there are none.
    double mean() const {
        return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
    }
    friend bool operator==(const ProbeEntry&, const ProbeEntry&) = default;
};

struct ProbeProfile {
    std::string name;
    std::string text;  // the probe's text as given
    Reducer reducer = Reducer::count;
    ProbeDatumKind value = ProbeDatumKind::none;
    ProbeDatumKind key = ProbeDatumKind::none;
    std::uint64_t hits = 0;                // executions whose condition held, without those missed
    std::uint64_t missed = 0;              // value, key or condition could not be known
    std::uint64_t left_out = 0;            // hits with a key for which a collector had no room
    std::vector<ProbeEntry> entries = {};  // hottest first: by sum for Reducer::sum, else by count

    friend bool operator==(const ProbeProfile&, const ProbeProfile&) = default;
};

// Joins entries with the same key, and equal values within an entry, and sorts both. Needed after
// locations have changed.
void settle(ProbeProfile& probe);

// Needs two results of the same probe, with locations in the same modules.
void add(ProbeProfile& sum, const ProbeProfile& more);

// Subtracts what each probe saw in `earlier`. Needs the same probes in the same order.
void subtract_probes(std::vector<ProbeProfile>& probes, const std::vector<ProbeProfile>& earlier);

inline auto identity(const ProbeProfile& p) {
    return std::tie(p.name, p.text, p.reducer, p.value, p.key);
}
inline std::uint64_t heat(const ProbeProfile& p) {
    return p.hits;
}

struct SumText {
    std::string text(ProbeSum sum) const { return sum_hex(sum); }
    std::optional<ProbeSum> value(std::string_view text) const { return parse_sum_hex(text); }
};

// Visits "value": "0x7" and "value_text": "7", or "value_at": location. Visits nothing if there is
// no datum.
template <typename Visitor>
void datum_fields(Visitor& visitor, const std::string& name, Like<ProbeDatum> auto& datum,
                  ProbeDatumKind kind) {
    if constexpr (Visitor::reads) {
        if (kind == ProbeDatumKind::location) datum = CodeLocation{};
        if (kind == ProbeDatumKind::number || kind == ProbeDatumKind::signed_number)
            datum = std::uint64_t{0};
    }
    if (auto* at = std::get_if<CodeLocation>(&datum)) visitor.location(name + "_at", *at);
    auto* number = std::get_if<std::uint64_t>(&datum);
    if (number == nullptr) return;
    visitor.hex(name, *number);
    visitor.derived(name + "_text",
                    [&] { return probe_number(*number, kind == ProbeDatumKind::signed_number); });
}

void fields(auto& visitor, Like<ProbeEntry> auto& e, const ProbeProfile& probe) {
    datum_fields(visitor, "key", e.key, probe.key);
    visitor.count("count", e.count);
    if (probe.reducer == Reducer::sum || probe.reducer == Reducer::histogram) {
        visitor.encoded("sum", e.sum, SumText{}, "a hexadecimal number");
        visitor.derived("mean", [&] { return e.mean(); });
    }
    if (probe.reducer == Reducer::histogram) {
        visitor.hex("least", e.least);
        visitor.hex("most", e.most);
        visitor.pairs("histogram", e.histogram,
                      PairLimits<int>{.min_key = -widest_bucket,
                                      .max_key = widest_bucket,
                                      .what = "a list of pairs of widths and counts"});
    }
    if (probe.reducer == Reducer::hotlist) {
        visitor.list("top", e.top, [&](auto& each, auto& top) {
            datum_fields(each, "value", top.value, probe.value);
            each.count("count", top.count);
            each.number("error", top.error);
        });
        visitor.number("absent_error", e.absent_error);
    }
}

void fields(auto& visitor, Like<ProbeProfile> auto& p) {
    visitor.text("name", p.name);
    visitor.text("text", p.text);
    visitor.choice("reducer", p.reducer, reducer_names);
    visitor.choice("value", p.value, probe_datum_names);
    visitor.choice("key", p.key, probe_datum_names);
    visitor.count("hits", p.hits);
    visitor.count("missed", p.missed);
    visitor.count("left_out", p.left_out);
    visitor.list("entries", p.entries, [&](auto& entry, auto& e) { fields(entry, e, p); });
}

struct ProbeList {
    using Record = ProbeProfile;
    static constexpr std::string_view name = "probes";
    static auto& of(auto& profile) { return profile.probes; }
    // Called after the locations have changed.
    static void settle_moved(ProbeProfile& probe) { settle(probe); }
    static constexpr auto subtract_all = subtract_probes;
};

}  // namespace shadowprof
