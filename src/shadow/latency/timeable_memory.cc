#include "shadow/latency/timeable_memory.h"

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

constexpr std::string_view flags_key = "VmFlags:";

bool has_flag(std::string_view flags, std::string_view flag) {
    for (std::size_t at = 0; at + flag.size() <= flags.size(); at += 3)
        if (flags.substr(at, flag.size()) == flag) return true;
    return false;
}

// I/O memory, page frames without a struct page, and what another process fills in when it is
// touched (userfaultfd).
bool is_harmful(std::string_view flags) {
    return has_flag(flags, "io") || has_flag(flags, "pf") || has_flag(flags, "um") ||
           has_flag(flags, "ui");
}

bool is_kernels_own(const Mapping& mapping) {
    return mapping.name.starts_with("[v") || mapping.name == "[uprobes]";
}

// Of a mapping whose flags are not known.
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
    TimeableMemory memory;
    Mapping mapping;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(flags_key)) {
            const auto flags = line.substr(std::min(line.size(), flags_key.size() + 1));
            if (mapping.readable && !is_kernels_own(mapping) && !is_harmful(flags))
                memory.ranges_.push_back(mapping);
        } else if (!line.empty() && (line[0] < 'A' || line[0] > 'Z')) {
            TRY_ASSIGN(const auto map, MemoryMap::parse(line));
            if (map.mappings().size() != 1)
                return Error{ErrorCode::invalid, 0, "smaps: a line that is no mapping"};
            mapping = map.mappings().front();
        }
    }
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
