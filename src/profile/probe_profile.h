// What a probe saw (docs/probes.md), reduced as it asks for: part of a profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probe/reducer.h"
#include "profile/code_location.h"

namespace shadowprof {

// A value or key of a probe: none, a number or a place in code.
using ProbeDatum = std::variant<std::monostate, std::uint64_t, CodeLocation>;

// What the values or keys of one probe are. Signed numbers are in two's complement.
enum class ProbeDatumKind : std::uint8_t { none, number, signed_number, location };
inline constexpr std::array<std::string_view, 4> probe_datum_names = {"none", "number", "signed",
                                                                      "location"};

// Whether it is what a probe with such values or keys has.
inline bool is_of(const ProbeDatum& datum, ProbeDatumKind kind) {
    constexpr std::array<std::size_t, 4> alternatives = {0, 1, 1, 2};
    return datum.index() == alternatives[static_cast<std::size_t>(kind)];
}

// Values by powers of two: bucket 0 is of 0, bucket b of 2^(b-1) to 2^b - 1, bucket -b of their
// negatives.
using ProbeHistogram = std::map<int, std::uint64_t>;
inline constexpr int widest_bucket = 64;
int bucket_of(std::uint64_t value, bool is_signed);

// So wide that a run's sums do not wrap around. Those of hostile profiles may.
__extension__ using ProbeSum = __int128;
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
    ProbeSum sum = 0;         // of Reducer::sum and histogram
    ProbeHistogram histogram = {};
    std::uint64_t least = 0, most = 0;  // of histogram, where count != 0
    std::vector<ProbeTop> top = {};     // of hotlist, most frequent first
    double absent_error = 0;            // 95% bound on the count of a value that is not in `top`

    friend bool operator==(const ProbeEntry&, const ProbeEntry&) = default;
};

struct ProbeProfile {
    std::string name;
    std::string text;  // as it was given
    Reducer reducer = Reducer::count;
    ProbeDatumKind value = ProbeDatumKind::none;
    ProbeDatumKind key = ProbeDatumKind::none;
    std::uint64_t hits = 0;      // executions for which its condition held, but for those missed
    std::uint64_t missed = 0;    // the value, the key or the condition could not be known
    std::uint64_t left_out = 0;  // of `hits`: had a key beyond those that a collector has room for
    std::vector<ProbeEntry> entries = {};  // hottest first: by sum for Reducer::sum, else by count

    friend bool operator==(const ProbeProfile&, const ProbeProfile&) = default;
};

// Joins entries with one key and values of one entry that are the same, and sorts both: what is
// needed after locations have changed.
void settle(ProbeProfile& probe);

// Needs two of the same probe, with locations in the same modules.
void add(ProbeProfile& sum, const ProbeProfile& more);

}  // namespace shadowprof
