#include "emu/watch/probe_watch.h"

#include <algorithm>

namespace shadowprof {

ProbeWatch::ProbeWatch(ProbeSet probes, std::vector<PlaceRange> places, Probed probed,
                       std::span<const AllocatorEntry> allocators)
    : probes_(std::move(probes)), probed_(probed), places_(std::move(places)) {
    for (const AllocatorEntry& allocator : allocators)
        allocators_.emplace(allocator.entry, allocator.size);
    std::sort(places_.begin(), places_.end(),
              [](const PlaceRange& a, const PlaceRange& b) { return a.start < b.start; });
}

std::uint64_t ProbeWatch::place_bits(GuestAddress address) const {
    const auto behind =
        std::upper_bound(places_.begin(), places_.end(), address,
                         [](GuestAddress a, const PlaceRange& range) { return a < range.start; });
    if (behind == places_.begin()) return 0;
    const PlaceRange& range = *std::prev(behind);
    return address < range.end ? range.place_bits : 0;
}

bool ProbeWatch::is_probed(const Instruction& instruction) {
    auto bound = probes_.bind(instruction, place_bits(instruction.address()));
    std::erase_if(bound, [&](const BoundProbe& probe) {
        return probe.uses_latency() != (probed_ == Probed::timed_loads);
    });
    if (bound.empty())
        bound_.erase(instruction.address());
    else
        bound_.insert_or_assign(instruction.address(), std::move(bound));
    return is_probed(instruction.address());
}

std::span<const BoundProbe> ProbeWatch::at(GuestAddress address) const {
    const auto found = bound_.find(address);
    if (found == bound_.end()) return {};
    return found->second;
}

std::optional<AllocatedSize> ProbeWatch::allocator_at(GuestAddress address) const {
    const auto found = allocators_.find(address);
    return found == allocators_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace shadowprof
