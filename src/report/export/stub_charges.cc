#include "report/export/stub_charges.h"

#include <algorithm>
#include <set>
#include <utility>

#include "report/symbols/elf/plt.h"

namespace shadowprof {
namespace {

// Calls pay(payer, part) for each payer. The parts add up to `count`.
void divide(std::uint64_t count, const auto& payers, const auto& pay) {
    double shares = 0;
    std::uint64_t paid = 0;
    for (const auto& payer : payers) {
        shares += payer.share;
        const bool is_last = &payer == &payers.back();
        const auto up_to =
            is_last
                ? count
                : std::clamp(static_cast<std::uint64_t>(shares * static_cast<double>(count) + 0.5),
                             paid, count);
        pay(payer.at, up_to - paid);
        paid = up_to;
    }
}

}  // namespace

StubCharges::StubCharges(const Profile& profile, std::vector<LinkageTable> tables,
                         SymbolSource& symbols)
    : tables_(std::move(tables)), symbols_(symbols) {
    std::map<CodeLocation, Counts> callers, stubs;  // by stub; by table, the stubs that jump to it
    for (const Edge& edge : profile.edges) {
        const auto to = stub_at(edge.to);
        if (!to) continue;
        const auto from = stub_at(edge.from);
        if (!from)
            callers[*to][edge.from] += edge.count;
        else if (*from != *to)
            stubs[*to][*from] += edge.count;
    }
    for (const auto& [stub, of_stub] : callers) payers_[stub] = payers_of(of_stub);
    for (const auto& [table, of_table] : stubs) {
        Payers payers;
        for (const auto& [stub, share] : payers_of(of_table))
            if (const auto found = payers_.find(stub); found != payers_.end())
                for (const auto& payer : found->second)
                    payers.push_back({payer.at, share * payer.share});
        if (!payers.empty()) payers_.try_emplace(table, std::move(payers));
    }
}

std::optional<CodeLocation> StubCharges::stub_at(CodeLocation at) const {
    const auto table = std::ranges::find_if(tables_, [&](const LinkageTable& each) {
        return each.module == at.module && each.begin <= at.address && at.address < each.end;
    });
    if (table == tables_.end()) return std::nullopt;
    const CodeSymbol& symbol = symbols_.symbol(at);
    if (symbol.function_start && symbol.function.ends_with(plt_suffix))
        return CodeLocation{at.module, *symbol.function_start};
    return CodeLocation{at.module, table->begin};
}

bool StubCharges::is_common_code(CodeLocation at) const {
    return stub_at(at) && !symbols_.symbol(at).function.ends_with(plt_suffix);
}

StubCharges::Payers StubCharges::payers_of(const Counts& callers) const {
    double all = 0;
    for (const auto& [at, count] : callers) all += static_cast<double>(count);
    Payers payers;
    for (const auto& [at, count] : callers)
        payers.push_back({at, all > 0 ? static_cast<double>(count) / all : 1});
    return payers;
}

const StubCharges::Payers* StubCharges::payers_at(CodeLocation at) const {
    const auto stub = stub_at(at);
    const auto found = stub ? payers_.find(*stub) : payers_.end();
    return found == payers_.end() ? nullptr : &found->second;
}

void StubCharges::charge(ExecutionCosts& costs) const {
    const auto place = [&](CodeLocation at) -> LineCosts& {
        return costs.functions[symbols_.function_start(at)].places[at.address];
    };
    std::set<CodeLocation> callees, emptied;
    for (auto& [start, function] : costs.functions) {
        for (auto& [address, stub] : function.places) {
            // The common code is no callee: a stub has jumped there.
            std::erase_if(stub.calls, [&](const auto& each) {
                return is_common_code(each.first) && payers_at(each.first) != nullptr;
            });
            for (const auto& [callee, call] : stub.calls) callees.insert(callee);
            const auto* payers = payers_at({start.module, address});
            if (payers == nullptr) continue;
            divide(std::exchange(stub.instructions, 0), *payers,
                   [&](CodeLocation at, std::uint64_t part) { place(at).instructions += part; });
            stub.jumps.clear();
            emptied.insert(start);
        }
    }
    for (const CodeLocation& start : emptied)
        if (!callees.contains(start)) costs.functions.erase(start);
}

void StubCharges::charge(CallgrindEvents& events) const {
    auto& counts = events.counts();
    std::map<CodeLocation, EventCounts> moved;
    for (auto stub = counts.begin(); stub != counts.end();) {
        const auto* payers = payers_at(stub->first);
        if (payers == nullptr) {
            ++stub;
            continue;
        }
        for (std::size_t event = 0; event < stub->second.size(); ++event)
            divide(stub->second[event], *payers, [&](CodeLocation at, std::uint64_t part) {
                auto& sum = moved[at];
                sum.resize(std::max(sum.size(), stub->second.size()));
                sum[event] += part;
            });
        stub = counts.erase(stub);
    }
    for (const auto& [at, sum] : moved) add(counts[at], sum);
}

}  // namespace shadowprof
