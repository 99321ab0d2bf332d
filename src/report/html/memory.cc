// Writes the costs of loads and stores: latencies, hazards, address patterns, data streams.
#include <algorithm>
#include <bit>

#include "base/text/text_format.h"
#include "report/html/page_data.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_loads = 300, max_hazards = 300, max_addresses = 300, max_streams = 100,
                      max_references = 64, max_strides = 5, max_bins = 48;

// Returns bins, eight per power of two, or single cycles if there are few.
CycleHistogram coarse(const CycleHistogram& histogram) {
    if (histogram.size() <= max_bins) return histogram;
    CycleHistogram bins;
    for (const auto& [cycles, count] : histogram) {
        const auto power = static_cast<unsigned>(std::bit_width(cycles));
        const auto drop = power > 4 ? power - 4 : 0;
        bins[cycles >> drop << drop] += count;
    }
    return bins;
}

template <typename List, typename Count>
Shown shown_of(const List& list, std::size_t most, Count count) {
    double all = 0, covered = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        all += static_cast<double>(count(list[i]));
        if (i < most) covered += static_cast<double>(count(list[i]));
    }
    return {std::min(list.size(), most), list.size(), all > 0 ? covered / all : 1};
}

void write_host(const LatencyHost& host, JsonWriter& json) {
    json.key("host");
    json.begin_object();
    json.member("step_cycles", host.step_cycles);
    json.member("hit_cycles", host.hit_cycles);
    json.member("load_us", host.load_us);
    json.key("levels");
    begin_table(json, {"name", "from_cycles", "median_cycles", "accuracy"});
    for (const LatencyLevel& level : host.levels) {
        json.begin_array();
        json.value(printable(level.name));
        json.value(level.from_cycles);
        json.value(level.median_cycles);
        json.value(level.accuracy);
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

}  // namespace

void write_moves(const AddressMoves& moves, JsonWriter& json) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> strides(moves.strides.begin(),
                                                                moves.strides.end());
    std::stable_sort(strides.begin(), strides.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    strides.resize(std::min(strides.size(), max_strides));
    json.begin_object();
    for (const PatternRow& row : pattern_rows) json.member(row.name, row.count(moves));
    json.key("strides");
    json.begin_array();
    for (const auto& [stride, count] : strides) {
        json.begin_array();
        json.value(stride);
        json.value(count);
        json.end_array();
    }
    json.end_array();
    json.end_object();
}

void write_load(const PageData& page, const LoadLatency& load, JsonWriter& json) {
    json.begin_object();
    json.member("at", page.places.place(load.at));
    json.member("timed", load.timed);
    json.member("reused", load.reused);
    json.member("lost_cycles", load.lost_cycles);
    json.member("median_cycles", load.median_cycles());
    json.member("line_crossings", load.line_crossings);
    json.member("page_crossings", load.page_crossings);
    json.key("levels");
    json.begin_object();
    for (const auto& [level, count] : load.levels) json.member(printable(level), count);
    json.end_object();
    json.key("histogram");
    json.begin_array();
    for (const auto& [cycles, count] : coarse(load.histogram)) {
        json.begin_array();
        json.value(cycles);
        json.value(count);
        json.end_array();
    }
    json.end_array();
    json.key("moves");
    write_moves(load.moves, json);
    json.end_object();
}

void write_loads(const PageData& page, JsonWriter& json) {
    const auto& loads = page.profile.latency;
    const auto shown = shown_of(loads, max_loads, [](const auto& l) { return l.lost_cycles; });
    json.begin_object();
    write_shown(json, shown);
    if (page.profile.latency_host) write_host(*page.profile.latency_host, json);
    json.key("loads");
    json.begin_array();
    for (std::size_t i = 0; i < shown.shown; ++i) write_load(page, loads[i], json);
    json.end_array();
    json.end_object();
}

void write_hazards(const PageData& page, JsonWriter& json) {
    const auto& hazards = page.profile.hazards;
    const auto shown = shown_of(hazards, max_hazards, [](const auto& h) { return h.count; });
    json.begin_object();
    write_shown(json, shown);
    json.key("hazards");
    begin_table(json, {"kind", "first", "second", "count", "executions"});
    for (std::size_t i = 0; i < shown.shown; ++i) {
        const Hazard& hazard = hazards[i];
        json.begin_array();
        json.value(name(hazard.kind));
        if (is_pair(hazard.kind))
            json.value(page.places.place(hazard.first));
        else
            json.null();
        json.value(page.places.place(hazard.second));
        json.value(hazard.count);
        json.value(hazard.executions);
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

void write_addresses(const PageData& page, JsonWriter& json) {
    const auto& addresses = page.profile.addresses;
    const auto shown =
        shown_of(addresses, max_addresses, [](const auto& a) { return a.moves.count(); });
    json.begin_object();
    write_shown(json, shown);
    json.key("addresses");
    begin_table(json, {"at", "moves"});
    for (std::size_t i = 0; i < shown.shown; ++i) {
        json.begin_array();
        json.value(page.places.place(addresses[i].at));
        write_moves(addresses[i].moves, json);
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

void write_streams(const PageData& page, JsonWriter& json) {
    const auto& streams = page.profile.streams;
    const auto& counters = page.profile.sampling.counters;
    const auto all = counters.find("stream_references");
    const auto shown = shown_of(streams, max_streams, [](const auto& s) { return s.heat(); });
    json.begin_object();
    write_shown(json, shown);
    json.member("references", all == counters.end() ? 0 : all->second);
    json.key("streams");
    begin_table(json, {"occurrences", "length", "references"});
    for (std::size_t i = 0; i < shown.shown; ++i) {
        const auto& references = streams[i].references;
        json.begin_array();
        json.value(streams[i].occurrences);
        json.value(references.size());
        json.begin_array();
        for (std::size_t j = 0; j < std::min(references.size(), max_references); ++j) {
            json.begin_array();
            json.value(page.places.place(references[j].at));
            json.value(hex_text(references[j].address));
            json.end_array();
        }
        json.end_array();
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

}  // namespace shadowprof
