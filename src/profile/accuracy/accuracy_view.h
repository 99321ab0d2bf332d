// What the metrics of profile/accuracy/accuracy.h have in common.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "profile/accuracy/accuracy_result.h"
#include "profile/merge/joint_modules.h"

namespace shadowprof {

// One of the two profiles, with its locations in common modules.
struct AccuracyView {
    const Profile& profile;
    const char* name;                    // in messages
    std::vector<std::uint32_t> numbers;  // JointModules'

    // A module that the profile lacks stays what it is nowhere else: no number.
    CodeLocation common(CodeLocation location) const {
        if (!renumber(location, numbers)) location.module = UINT32_MAX;
        return location;
    }
    std::vector<CodeLocation> common(std::vector<CodeLocation> locations) const {
        for (CodeLocation& location : locations) location = common(location);
        return locations;
    }
};

// Whether the run says that it has collected `kind`, so that an empty list is one that has nothing
// in it and not one that nobody asked for.
inline bool says_collected(const Profile& profile, std::string_view kind) {
    const auto kinds = profile.run.options.find("profiles");
    if (kinds == profile.run.options.end() || profile.sampling.instructions == 0) return false;
    return fmt::format(",{},", kinds->second).find(fmt::format(",{},", kind)) != std::string::npos;
}

// What keeps a metric from having a value; empty if nothing does. Methods follow from edges and
// calls: no run is asked for them.
template <typename List>
std::string missing(const AccuracyView& full, const AccuracyView& sampled, List Profile::*list,
                    std::string_view kind) {
    if ((full.profile.*list).empty())
        return says_collected(full.profile, kind)
                   ? fmt::format("FULL has no {}s that were executed", kind)
                   : fmt::format("{} has no {}s", full.name, kind);
    if ((sampled.profile.*list).empty() && !says_collected(sampled.profile, kind))
        return fmt::format("{} has no {}s", sampled.name, kind);
    return {};
}

// Keeps the worst of the entries that make up a metric's distance, `most` at most.
inline void keep_worst(AccuracyMetric& metric, std::vector<AccuracyEntry> entries,
                       std::size_t most) {
    std::erase_if(entries, [](const AccuracyEntry& entry) { return entry.distance <= 0; });
    std::stable_sort(
        entries.begin(), entries.end(),
        [](const AccuracyEntry& a, const AccuracyEntry& b) { return a.distance > b.distance; });
    if (entries.size() > most) entries.resize(most);
    metric.worst = std::move(entries);
}

inline AccuracyMetric left_out(std::string why) {
    AccuracyMetric metric;
    metric.missing = std::move(why);
    return metric;
}

}  // namespace shadowprof
