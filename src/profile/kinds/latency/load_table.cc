#include "profile/kinds/latency/load_table.h"

#include "profile/kinds/addresses/address_patterns.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {}  // namespace

LoadTable::Row& LoadTable::row(CodeLocation at) {
    auto& row = rows_[at];
    row.load.at = at;
    return row;
}

void LoadTable::add_moves(CodeLocation at, std::uint64_t constant, std::uint64_t moved,
                          std::uint64_t chased, const StrideCounts::Entry& stride) {
    auto& steps = row(at).steps;
    steps.constant += constant;
    steps.moved += moved;
    steps.chased += chased;
    if (stride.count != 0) steps.strides.add(stride.stride, stride.count);
}

void LoadTable::add_timed(CodeLocation at, GuestAddress address, std::uint64_t size_bytes,
                          std::uint64_t cycles) {
    auto& load = row(at).load;
    const auto last = address + (size_bytes - 1);
    ++load.timed;
    load.line_crossings += address.value / line_bytes != last.value / line_bytes;
    load.page_crossings += address.page() != last.page();
    ++load.histogram[cycles];
}

void LoadTable::add_reused(CodeLocation at, std::uint64_t count, std::uint64_t line_crossings,
                           std::uint64_t page_crossings) {
    auto& load = row(at).load;
    load.reused += count;
    load.line_crossings += line_crossings;
    load.page_crossings += page_crossings;
}

std::vector<LoadLatency> LoadTable::loads(const LatencyHost& host) const {
    std::vector<LoadLatency> list;
    for (const auto& [at, row] : rows_) {
        if (row.load.count() == 0) continue;
        auto& load = list.emplace_back(row.load);
        load.moves = address_moves(row.steps.constant, row.steps.moved, row.steps.chased,
                                   row.steps.strides.most());
        classify(load, host);
    }
    join_and_sort(list);
    return list;
}

}  // namespace shadowprof
