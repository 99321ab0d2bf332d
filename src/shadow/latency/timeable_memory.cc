#include "shadow/latency/timeable_memory.h"

#include <algorithm>
#include <array>

#include "ptrace/proc/smaps.h"

namespace shadowprof {
namespace {

// Whether it is I/O memory, page frames without a struct page, or memory that another process fills
// in when it is touched (userfaultfd).
bool is_harmful(const FlaggedMapping& mapping) {
    return mapping.has("io") || mapping.has("pf") || mapping.has("um") || mapping.has("ui");
}

bool is_kernels_own(const Mapping& mapping) {
    return mapping.name.starts_with("[v") || mapping.name == "[uprobes]";
}

// Judges a mapping whose flags are not known.
bool is_plain(const Mapping& mapping) {
    if (!mapping.is_file()) return true;
    if (mapping.shared || !mapping.name.starts_with("/")) return false;
    constexpr std::array<std::string_view, 3> devices = {"/dev/", "/sys/", "/proc/"};
    return std::none_of(devices.begin(), devices.end(),
                        [&](auto prefix) { return mapping.name.starts_with(prefix); });
}

}  // namespace

TimeableMemory::TimeableMemory(const MemoryMap& map) {
    for (const auto& mapping : map.mappings())
        if (mapping.readable && !is_kernels_own(mapping) && is_plain(mapping))
            ranges_.push_back(mapping);
}

Result<TimeableMemory> TimeableMemory::parse(std::string_view text) {
    TRY_ASSIGN(const auto mappings, parse_flagged_mappings(text));
    TimeableMemory memory;
    for (const auto& each : mappings)
        if (each.mapping.readable && !is_kernels_own(each.mapping) && !is_harmful(each))
            memory.ranges_.push_back(each.mapping);
    return memory;
}

bool TimeableMemory::contains(GuestAddress first, GuestAddress last) const {
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), first,
                               [](GuestAddress a, const Mapping& m) { return a < m.end; });
    for (auto at = first; it != ranges_.end() && it->contains(at); ++it) {
        if (last < it->end) return true;
        at = it->end;
    }
    return false;
}

bool wants_smaps(const MemoryMap& map) {
    return std::ranges::any_of(map.mappings(), [](const Mapping& mapping) {
        return mapping.is_file() && mapping.readable && mapping.shared;
    });
}

}  // namespace shadowprof
