#include "report/export/callgrind_events.h"

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

using Event = CallgrindEvents::Event;

constexpr std::array cache_events = {
    Event{"Dr", "Data read accesses"},    Event{"Dw", "Data write accesses"},
    Event{"D1mr", "L1 data read misses"}, Event{"D1mw", "L1 data write misses"},
    Event{"DLmr", "LL data read misses"}, Event{"DLmw", "LL data write misses"},
};
constexpr std::array branch_events = {
    Event{"Bc", "Conditional branches"},
    Event{"Bcm", "Mispredicted conditional branches"},
    Event{"Bi", "Indirect branches"},
    Event{"Bim", "Mispredicted indirect branches"},
};

// Files are hostile: parts may be larger than the whole.
std::uint64_t rest(std::uint64_t all, std::uint64_t part) {
    return all - std::min(all, part);
}

}  // namespace

void add(EventCounts& sum, const EventCounts& counts) {
    sum.resize(std::max(sum.size(), counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
}

CallgrindEvents::CallgrindEvents(const Profile& profile) {
    if (profile.cache_model || !profile.cache.empty()) add_cache(profile);
    if (profile.branch_model || !profile.branches.empty()) add_branches(profile);
}

EventCounts& CallgrindEvents::at(CodeLocation place) {
    auto& counts = counts_[place];
    counts.resize(events_.size());
    return counts;
}

void CallgrindEvents::add_cache(const Profile& profile) {
    events_.insert(events_.end(), cache_events.begin(), cache_events.end());
    for (const CacheAccesses& c : profile.cache)
        shadowprof::add(at(c.at), {rest(c.accesses, c.stores.accesses), c.stores.accesses,
                                   rest(c.l1_misses, c.stores.l1_misses), c.stores.l1_misses,
                                   rest(c.l3_misses, c.stores.l3_misses), c.stores.l3_misses});
}

void CallgrindEvents::add_branches(const Profile& profile) {
    const std::size_t first = events_.size();
    events_.insert(events_.end(), branch_events.begin(), branch_events.end());
    for (const PredictedBranch& branch : profile.branches) {
        if (branch.kind == BranchKind::ret) continue;
        auto& counts = at(branch.at);
        const std::size_t event = branch.kind == BranchKind::conditional ? first : first + 2;
        counts[event] += branch.executions;
        counts[event + 1] += branch.mispredictions;
    }
}

}  // namespace shadowprof
