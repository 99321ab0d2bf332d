#include "profile/load_table.h"

#include "profile/join.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t line_bytes = 64;

}  // namespace

LoadLatency& LoadTable::row(CodeLocation at) {
    auto& row = rows_[at];
    row.at = at;
    return row;
}

void LoadTable::add_timed(CodeLocation at, GuestAddress address, std::uint64_t size_bytes,
                          std::uint64_t cycles) {
    auto& load = row(at);
    const auto last = address + (size_bytes - 1);
    ++load.timed;
    load.line_crossings += address.value / line_bytes != last.value / line_bytes;
    load.page_crossings += address.page() != last.page();
    ++load.histogram[cycles];
}

void LoadTable::add_reused(CodeLocation at, std::uint64_t count, std::uint64_t line_crossings,
                           std::uint64_t page_crossings) {
    auto& load = row(at);
    load.reused += count;
    load.line_crossings += line_crossings;
    load.page_crossings += page_crossings;
}

std::vector<LoadLatency> LoadTable::loads(const LatencyHost& host) const {
    std::vector<LoadLatency> list;
    for (const auto& [at, load] : rows_) {
        list.push_back(load);
        classify(list.back(), host);
    }
    join_and_sort(list);
    return list;
}

}  // namespace shadowprof
