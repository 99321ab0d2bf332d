// Names that earlier versions gave to counters, options and modes of a profile. Files are read by
// either name. Counters are written by both, so that scripts which read profiles still find them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace shadowprof {

struct OldName {
    std::string_view name, old_name;
};

// Of sampling.counters.
inline constexpr OldName old_counter_names[] = {
    {"live_samples", "bursts"},
    {"live_samples_cut_by_time", "bursts_cut_by_time"},
    {"live_samples_discarded", "bursts_discarded"},
    {"live_excess_max_us", "burst_excess_max_us"},
    {"live_windows_met", "windows_met_after_bursts"},
    {"live_emulation_ns", "burst_emulation_ns"},
    {"live_translation_ns", "burst_translation_ns"},
    {"latency_sessions", "latency_bursts"},
    {"latency_sessions_migrated", "latency_bursts_migrated"},
    {"latency_session_ns", "latency_burst_ns"},
};
// Of run.options.
inline constexpr OldName old_option_names[] = {{"live-timing", "burst"}};
// Of sampling.mode, and of the option.
inline constexpr OldName old_mode_names[] = {{"live", "burst"},
                                             {"shadow and live", "shadow and burst"}};

inline std::map<std::string, std::uint64_t> with_old_names(
    std::map<std::string, std::uint64_t> counters) {
    for (const OldName& each : old_counter_names)
        if (const auto found = counters.find(std::string(each.name)); found != counters.end())
            counters.insert_or_assign(std::string(each.old_name), found->second);
    return counters;
}

// Where a member has both names, the current one is valid.
template <typename Value>
void drop_old_names(std::map<std::string, Value>& members, std::span<const OldName> names) {
    for (const OldName& each : names) {
        const auto old = members.find(std::string(each.old_name));
        if (old == members.end()) continue;
        members.try_emplace(std::string(each.name), old->second);
        members.erase(old);
    }
}

inline void drop_old_mode(std::string& mode) {
    for (const OldName& each : old_mode_names)
        if (mode == each.old_name) mode = each.name;
}

}  // namespace shadowprof
