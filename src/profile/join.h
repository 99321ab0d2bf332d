// What makes two items of a profile's lists the same, and what their sum is.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "profile/count_limits.h"
#include "profile/profile.h"

namespace shadowprof {

inline auto identity(const Edge& e) {
    return std::tie(e.from, e.to, e.kind);
}
inline auto identity(const Path& p) {
    return std::tie(p.blocks, p.instructions);
}
inline auto identity(const Stack& s) {
    return std::tie(s.frames);
}
inline auto identity(const CallPair& c) {
    return std::tie(c.site, c.callee);
}
inline auto identity(const Method& m) {
    return std::tie(m.entry);
}
inline auto identity(const ValueProfile& v) {
    return std::tie(v.at, v.operand, v.width_bytes);
}
inline auto identity(const CallerValues& v) {
    return std::tie(v.callers);
}
inline auto identity(const Hazard& h) {
    return std::tie(h.kind, h.first, h.second);
}
inline auto identity(const AddressPattern& a) {
    return std::tie(a.at);
}
inline auto identity(const DataStream& s) {
    return std::tie(s.references);
}
inline auto identity(const LoadLatency& l) {
    return std::tie(l.at);
}
inline auto identity(const ProbeProfile& p) {
    return std::tie(p.name, p.text, p.reducer, p.value, p.key);
}
inline auto identity(const ThreadProfile& t) {
    return std::tie(t.pid, t.tid, t.name);
}
inline auto identity(const ClockTicks& c) {
    return std::tie(c.at);
}

inline std::uint64_t heat(const Edge& e) {
    return e.count;
}
inline std::uint64_t heat(const Path& p) {
    return p.count;
}
inline std::uint64_t heat(const Stack& s) {
    return s.instructions;
}
inline std::uint64_t heat(const CallPair& c) {
    return c.count;
}
inline std::uint64_t heat(const Method& m) {
    return m.instructions.value_or(m.entries);
}
inline std::uint64_t heat(const ValueProfile& v) {
    return v.count;
}
inline std::uint64_t heat(const CallerValues& v) {
    return v.count;
}
inline std::uint64_t heat(const Hazard& h) {
    return h.count;
}
inline std::uint64_t heat(const AddressPattern& a) {
    return a.moves.count();
}
inline std::uint64_t heat(const DataStream& s) {
    return s.heat();
}
inline auto heat(const LoadLatency& l) {
    return std::pair(l.lost_cycles, l.count());
}
inline std::uint64_t heat(const ProbeProfile& p) {
    return p.hits;
}
inline auto heat(const ThreadProfile& t) {
    return std::pair(t.instructions, t.time_ns);
}
inline std::uint64_t heat(const ClockTicks& c) {
    return c.time_ns;
}

// Errors of independent counts add up by squares.
inline void add_error(std::optional<double>& sum, const std::optional<double>& error) {
    if (sum && error)
        sum = std::hypot(*sum, *error);
    else
        sum.reset();
}

inline void add(Edge& sum, const Edge& e) {
    sum.count += e.count;
    add_error(sum.error, e.error);
}
inline void add(Path& sum, const Path& p) {
    sum.count += p.count;
    add_error(sum.error, p.error);
}
inline void add(CallPair& sum, const CallPair& c) {
    sum.count += c.count;
    add_error(sum.error, c.error);
}
inline void add(Stack& sum, const Stack& s) {
    sum.instructions += s.instructions;
    sum.samples += s.samples;
    add_error(sum.error, s.error);
    sum.time_ns += s.time_ns;
    add_error(sum.time_error_ns, s.time_error_ns);
}
inline void add(Method& sum, const Method& m) {
    sum.entries += m.entries;
    sum.back_edges += m.back_edges;
    add_error(sum.error, m.error);
    if (sum.instructions && m.instructions)
        *sum.instructions += *m.instructions;
    else
        sum.instructions.reset();
    if (sum.time_ns && m.time_ns)
        *sum.time_ns += *m.time_ns;
    else
        sum.time_ns.reset();
    add_error(sum.time_error_ns, m.time_error_ns);
}
inline void add(Hazard& sum, const Hazard& h) {
    sum.count += h.count;
    sum.executions += h.executions;
}
inline void add(DataStream& sum, const DataStream& s) {
    add_moves(sum.occurrences, s.occurrences);
}
inline void add(AddressMoves& sum, const AddressMoves& a) {
    add_moves(sum.constant, a.constant);
    add_moves(sum.chased, a.chased);
    add_moves(sum.irregular, a.irregular);
    for (const auto& [distance, count] : a.strides) add_moves(sum.strides[distance], count);
}
inline void add(AddressPattern& sum, const AddressPattern& a) {
    add(sum.moves, a.moves);
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
inline void add(ThreadProfile& sum, const ThreadProfile& t) {
    sum.samples += t.samples;
    sum.instructions += t.instructions;
    sum.time_ns += t.time_ns;
}
inline void add(ClockTicks& sum, const ClockTicks& c) {
    sum.ticks += c.ticks;
    sum.time_ns += c.time_ns;
}
// Estimates add up, their errors by squares (profile/hotlist.h).
void add(ValueProfile& sum, const ValueProfile& v);
void add(CallerValues& sum, const CallerValues& v);

// Adds up items that are the same and sorts the hottest first; the order is that of their content
// where they are equally hot.
template <typename T>
void join_and_sort(std::vector<T>& list) {
    std::stable_sort(list.begin(), list.end(),
                     [](const T& a, const T& b) { return identity(a) < identity(b); });
    std::vector<T> joined;
    for (T& item : list) {
        if (!joined.empty() && identity(joined.back()) == identity(item))
            add(joined.back(), item);
        else
            joined.push_back(std::move(item));
    }
    std::stable_sort(joined.begin(), joined.end(),
                     [](const T& a, const T& b) { return heat(a) > heat(b); });
    list = std::move(joined);
}

}  // namespace shadowprof
