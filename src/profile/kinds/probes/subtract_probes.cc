// Subtracts the results of probes in an earlier profile of the same run.
#include <algorithm>
#include <cmath>

#include "profile/kinds/difference.h"
#include "profile/kinds/probes/probe_profile.h"

namespace shadowprof {
namespace {

void subtract_entry(ProbeEntry& entry, const ProbeEntry& earlier) {
    subtract(entry.count, earlier.count);
    entry.sum = wrapping_sum(entry.sum, -earlier.sum);
    subtract(entry.histogram, earlier.histogram);
    subtract_top(entry.top, earlier.top, earlier.absent_error);
    entry.absent_error = std::hypot(entry.absent_error, earlier.absent_error);
}

void subtract_probe(ProbeProfile& probe, const ProbeProfile& earlier) {
    subtract(probe.hits, earlier.hits);
    subtract(probe.missed, earlier.missed);
    subtract(probe.left_out, earlier.left_out);
    std::map<ProbeDatum, const ProbeEntry*> by_key;
    for (const ProbeEntry& entry : earlier.entries) by_key[entry.key] = &entry;
    for (ProbeEntry& entry : probe.entries)
        if (const auto it = by_key.find(entry.key); it != by_key.end())
            subtract_entry(entry, *it->second);
    std::erase_if(probe.entries, [](const ProbeEntry& entry) { return entry.count == 0; });
    settle(probe);
}

}  // namespace

void subtract_probes(std::vector<ProbeProfile>& probes, const std::vector<ProbeProfile>& earlier) {
    const std::size_t both = std::min(probes.size(), earlier.size());
    for (std::size_t i = 0; i < both; ++i) subtract_probe(probes[i], earlier[i]);
}

}  // namespace shadowprof
