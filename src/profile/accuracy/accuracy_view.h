// Helpers that the metrics of profile/accuracy/accuracy.h share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "profile/accuracy/accuracy_result.h"
#include "profile/merge/joint_modules.h"

namespace shadowprof {

// One of the two profiles, with a way to translate its locations to joint modules.
struct AccuracyView {
    const Profile& profile;
    const char* name;                    // for messages
    std::vector<std::uint32_t> numbers;  // joint numbers of the profile's modules

    // Translates to joint modules. A location whose module has no joint number gets module
    // UINT32_MAX, which equals no other location's.
    CodeLocation common(CodeLocation location) const {
        if (!renumber(location, numbers)) location.module = UINT32_MAX;
        return location;
    }
    std::vector<CodeLocation> common(std::vector<CodeLocation> locations) const {
        for (CodeLocation& location : locations) location = common(location);
        return locations;
    }
};

// Tells whether the run collected a kind, as its options say. An empty list then means that nothing
// was found.
template <typename Kind>
bool says_collected(const Profile& profile) {
    const auto kinds = profile.run.options.find("profiles");
    if (kinds == profile.run.options.end() || profile.sampling.instructions == 0) return false;
    const auto words = fmt::format(",{},", kinds->second);
    return words.find(fmt::format(",{},", Kind::option.word)) != std::string::npos;
}

// Returns why a kind's metric has no value, or an empty string if it has one.
template <typename Kind>
std::string missing(const AccuracyView& full, const AccuracyView& sampled) {
    constexpr std::string_view kind = Kind::option.word;
    if (Kind::of(full.profile).empty())
        return says_collected<Kind>(full.profile)
                   ? fmt::format("FULL has no {}s that were executed", kind)
                   : fmt::format("{} has no {}s", full.name, kind);
    if (Kind::of(sampled.profile).empty() && !says_collected<Kind>(sampled.profile))
        return fmt::format("{} has no {}s", sampled.name, kind);
    return {};
}

// Sets metric.worst: the entries with the largest distances, at most `most`.
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
