// Load latencies: how long loads took, and from which level of memory they came (docs/latency.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/addresses/address_pattern.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/latency/cycle_histogram.h"

namespace shadowprof {

// One level of the machine's memory, or several that loads cannot be told apart for.
struct LatencyLevel {
    std::string name;               // "L1", "L2", "L3" or "memory"; "L1/L2" where these are one
    std::uint64_t from_cycles = 0;  // where the level begins; it ends at the next one's
    double median_cycles = 0;       // at calibration
    double accuracy = 0;            // share of the level's loads that are taken for it

    friend bool operator==(const LatencyLevel&, const LatencyLevel&) = default;
};

void fields(auto& visitor, Like<LatencyLevel> auto& l) {
    visitor.text("name", l.name);
    visitor.count("from_cycles", l.from_cycles);
    visitor.number("median_cycles", l.median_cycles);
    visitor.renamed_number("accuracy", l.accuracy, "right_share");
}

// A machine's load latencies, as calibrated. Cycles are those of the time-stamp counter and include
// the fences around the load.
struct LatencyHost {
    std::vector<LatencyLevel> levels;  // the fastest first; empty: calibration failed
    std::uint64_t step_cycles = 0;     // the counter's increment
    double load_us = 0;                // time that timing one load takes
    double hit_cycles = 0;             // a load whose line was just loaded, so that it is in L1
    // Share of lines known to be in the level that are no longer there when they are timed in a
    // stop. Nothing where that cannot be measured.
    std::optional<double> evicted_l1, evicted_l2;
    // Additional cycles of a load from L2 if no TLB has its page. Nothing where that cannot be
    // measured.
    std::optional<double> page_walk_cycles;

    friend bool operator==(const LatencyHost&, const LatencyHost&) = default;
};

void fields(auto& visitor, Like<LatencyHost> auto& h) {
    visitor.list("levels", h.levels, [](auto& level, auto& l) { fields(level, l); });
    visitor.count("step_cycles", h.step_cycles);
    visitor.number("load_us", h.load_us);
    visitor.number("hit_cycles", h.hit_cycles);
    visitor.nullable_number("evicted_l1", h.evicted_l1);
    visitor.nullable_number("evicted_l2", h.evicted_l2);
    visitor.nullable_number("page_walk_cycles", h.page_walk_cycles);
}

// The loads of one instruction in latency sessions.
struct LoadLatency {
    CodeLocation at;
    std::uint64_t timed = 0;
    // Loads from cache lines that were accessed before in the same session. They are hits of the
    // first level and are not timed.
    std::uint64_t reused = 0;
    std::uint64_t line_crossings = 0, page_crossings = 0;  // all loads'; a page crossing is also
                                                           // a line crossing
    CycleHistogram histogram;                              // timed loads only
    std::map<std::string, std::uint64_t> levels;           // all loads, by LatencyLevel::name
    // Cycles beyond LatencyHost::hit_cycles, of timed loads beyond the first level. First-level
    // loads do not count, as the stop may have evicted their lines.
    std::uint64_t lost_cycles = 0;
    AddressMoves moves;  // within sessions

    std::uint64_t count() const { return timed + reused; }
    // The median of the timed loads; 0 if none was timed.
    double median_cycles() const { return median(histogram); }
    friend bool operator==(const LoadLatency&, const LoadLatency&) = default;
};

inline auto identity(const LoadLatency& l) {
    return std::tie(l.at);
}
inline auto heat(const LoadLatency& l) {
    return std::pair(l.lost_cycles, l.count());
}
inline void add(LoadLatency& sum, const LoadLatency& l) {
    sum.timed += l.timed;
    sum.reused += l.reused;
    sum.line_crossings += l.line_crossings;
    sum.page_crossings += l.page_crossings;
    for (const auto& [cycles, count] : l.histogram) sum.histogram[cycles] += count;
    for (const auto& [level, count] : l.levels) sum.levels[level] += count;
    sum.lost_cycles += l.lost_cycles;
    add(sum.moves, l.moves);
}

inline void subtract(LoadLatency& load, const LoadLatency& earlier) {
    subtract(load.timed, earlier.timed);
    subtract(load.reused, earlier.reused);
    subtract(load.line_crossings, earlier.line_crossings);
    subtract(load.page_crossings, earlier.page_crossings);
    subtract(load.histogram, earlier.histogram);
    subtract(load.levels, earlier.levels);
    subtract(load.lost_cycles, earlier.lost_cycles);
    subtract(load.moves, earlier.moves);
}

void fields(auto& visitor, Like<LoadLatency> auto& l) {
    visitor.location("at", l.at);
    visitor.derived("count", [&] { return l.count(); });
    visitor.count_or("timed", l.timed, "count");
    visitor.added_count("reused", l.reused);
    visitor.derived("median_cycles", [&] { return l.median_cycles(); });
    visitor.added_count("lost_cycles", l.lost_cycles);
    visitor.added_count("line_crossings", l.line_crossings);
    visitor.added_count("page_crossings", l.page_crossings);
    visitor.map("levels", l.levels);
    visitor.object_if(l.moves.count() != 0, "addresses",
                      [&](auto& addresses) { fields(addresses, l.moves); });
    visitor.pairs("histogram", l.histogram,
                  PairLimits<std::uint64_t>{.what = "a list of pairs of cycles and loads"});
}

struct LatencyList {
    using Record = LoadLatency;
    static constexpr std::string_view name = "latency";
    static constexpr KindOption option{.word = "latency", .is_of_samples = false};
    static auto& of(auto& profile) { return profile.latency; }
    static constexpr std::string_view host_name = "latency_host";
    static auto& host_of(auto& profile) { return profile.latency_host; }
    static constexpr std::string_view unequal_hosts =
        "load latencies of different calibrations were added up";
};

}  // namespace shadowprof
