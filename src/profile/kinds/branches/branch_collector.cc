#include "profile/kinds/branches/branch_collector.h"

#include <optional>

#include "profile/merge/join.h"

namespace shadowprof {
namespace {

// A number for a place, never 0.
std::uint64_t key_of(CodeLocation location) {
    return (location.address ^ std::uint64_t{location.module} << 48) + 1;
}

std::optional<BranchKind> kind_of(Terminator terminator) {
    switch (terminator) {
        case Terminator::conditional:
            return BranchKind::conditional;
        case Terminator::indirect_jump:
            return BranchKind::indirect_jump;
        case Terminator::indirect_call:
            return BranchKind::indirect_call;
        case Terminator::ret:
            return BranchKind::ret;
        default:
            return std::nullopt;
    }
}

}  // namespace

void BranchCollector::begin_thread(std::uint32_t thread, std::span<const CodeLocation> returns) {
    if (thread >= threads_.size()) threads_.resize(thread + 1);
    threads_[thread] = {};
    for (auto at = returns.rbegin(); at != returns.rend(); ++at)
        threads_[thread].returns.push(key_of(*at));
}

// A call of the next instruction reads the program counter. Processors do not take its address for
// one that a return goes to.
void BranchCollector::fill_site(BlockToken token) {
    if (token >= sites_.size())
        sites_.resize(std::max<std::size_t>(token + std::size_t{1}, 2 * sites_.size()));
    const CanonicalBlock& block = blocks_[token];
    Site& site = sites_[token];
    site.start = key_of(block.start);
    site.end = key_of(block.end);
    site.pc = mix64(key_of(block.last));
    site.terminator = block.terminator;
    const auto after = block.guest_start.value + (block.end.address - block.start.address);
    site.pushes_return =
        block.terminator == Terminator::indirect_call ||
        (block.terminator == Terminator::call && block.guest_target.value != after);
}

void BranchCollector::take(std::uint32_t thread, std::span<const BlockToken> blocks,
                           Counting counting) {
    if (thread >= threads_.size()) threads_.resize(thread + 1);
    Thread& of = threads_[thread];
    const std::uint64_t weight = counting == Counting::counts ? weight_ : 0;
    for (const BlockToken token : blocks) {
        const std::uint64_t start = site(token).start;
        if (of.last != 0) step(of, sites_[of.last], start, weight);
        of.last = token;
    }
}

void BranchCollector::step(Thread& thread, Site& from, std::uint64_t to, std::uint64_t weight) {
    bool is_right = true, is_taken = true;
    switch (from.terminator) {
        case Terminator::conditional:
            is_taken = to != from.end;
            is_right = predictor_.conditional(from.pc, is_taken);
            break;
        case Terminator::indirect_jump:
        case Terminator::indirect_call:
            is_right = predictor_.indirect(from.pc, to);
            break;
        case Terminator::ret:
            is_right = BranchPredictor::return_to(thread.returns, to);
            break;
        case Terminator::jump:
        case Terminator::call:
            direct_ += weight;
            break;
        default:
            return;
    }
    if (from.pushes_return) thread.returns.push(from.end);
    // Without branches, which would be as hard to predict as the program's.
    from.executions += weight;
    from.taken += is_taken ? weight : 0;
    from.mispredictions += is_right ? 0 : weight;
}

void BranchTotals::add(const BranchCollector& collector) {
    direct_ += collector.direct_;
    for (BlockToken token = 1; token < collector.sites_.size(); ++token) {
        const auto& site = collector.sites_[token];
        const auto kind = kind_of(site.terminator);
        if (!kind || site.executions == 0) continue;
        Counts& sum = counts_[{collector.blocks_[token].last, *kind}];
        sum.executions += site.executions;
        sum.taken += site.taken;
        sum.mispredictions += site.mispredictions;
    }
}

void BranchTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.branches.clear();
    std::uint64_t all = direct_, conditional = 0, indirect = 0, taken = direct_, mispredicted = 0;
    for (const auto& [place, counts] : counts_) {
        const auto& [at, kind] = place;
        profile.branches.push_back({.at = at,
                                    .kind = kind,
                                    .executions = scale(counts.executions),
                                    .taken = scale(counts.taken),
                                    .mispredictions = scale(counts.mispredictions)});
        all += counts.executions;
        taken += counts.taken;
        mispredicted += counts.mispredictions;
        (kind == BranchKind::conditional ? conditional : indirect) += counts.executions;
    }
    join_and_sort(profile.branches);
    profile.branch_model = BranchPredictor::model();
    auto& counters = profile.sampling.counters;
    counters["branches"] = scale(all);
    counters["branches_conditional"] = scale(conditional);
    counters["branches_indirect"] = scale(indirect);
    counters["branches_taken"] = scale(taken);
    counters["branch_mispredictions"] = scale(mispredicted);
}

}  // namespace shadowprof
