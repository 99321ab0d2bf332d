#include "profile/address_patterns.h"

#include <algorithm>

namespace shadowprof {

void StrideCounts::add(std::int64_t stride, std::uint64_t weight) {
    Entry* free = nullptr;
    for (Entry& entry : entries_) {
        if (entry.count != 0 && entry.stride == stride) {
            entry.count += weight;
            return;
        }
        if (entry.count == 0) free = &entry;
    }
    if (free) {
        *free = {stride, weight};
        return;
    }
    for (Entry& entry : entries_) entry.count -= std::min(entry.count, weight);
}

void AddressPatterns::take(const Reference& r, std::uint64_t weight) {
    if (r.begins) loads_now_ = false;
    const bool implied = r.is(ReferenceSlot::stack) || r.is(ReferenceSlot::repeated) ||
                         r.is(ReferenceSlot::masked) || is_state_area(r.bytes);
    if (r.bytes != 0 && r.is(ReferenceSlot::load)) {
        if (!implied && !loads_now_) note(r, weight);
        loads_now_ = true;
    }
    if (r.written == 0) return;
    const bool from_load = loads_now_ ? r.read == 0 : (r.read & loaded_) != 0;
    const bool is_loaded = r.is(ReferenceSlot::copies) && from_load;
    loaded_ = static_cast<std::uint16_t>(is_loaded ? loaded_ | r.written : loaded_ & ~r.written);
}

void AddressPatterns::note(const Reference& r, std::uint64_t weight) {
    if (r.site >= by_site_.size())
        by_site_.resize(std::max<std::size_t>(r.site + 1, 2 * by_site_.size()));
    if (by_site_[r.site] == 0) {
        if (loads_.size() == most_loads) return;
        loads_.push_back({.site = r.site});
        by_site_[r.site] = static_cast<std::uint32_t>(loads_.size());
    }
    Load& load = loads_[by_site_[r.site] - 1];
    if (load.last_burst == burst_) {
        const auto moved_by = static_cast<std::int64_t>(r.address - load.last_address);
        if (moved_by == 0) {
            load.constant += weight;
        } else {
            load.moved += weight;
            load.strides.add(moved_by, weight);
            if (r.is(ReferenceSlot::direct) && (r.address_registers & loaded_) != 0)
                load.chased += weight;
        }
    }
    load.last_address = r.address;
    load.last_burst = burst_;
}

AddressPattern address_pattern(CodeLocation at, std::uint64_t constant, std::uint64_t moved,
                               std::uint64_t chased, const StrideCounts::Entry& stride) {
    AddressPattern pattern{.at = at, .constant = constant, .stride = stride.stride};
    pattern.strided = std::min(stride.count, moved);
    const auto rest = moved - pattern.strided;
    // Of moves by a stride it is not known whether they were chased.
    if (moved != 0)
        pattern.chased = std::min(rest, static_cast<std::uint64_t>(static_cast<double>(rest) *
                                                                       static_cast<double>(chased) /
                                                                       static_cast<double>(moved) +
                                                                   0.5));
    pattern.irregular = rest - pattern.chased;
    return pattern;
}

}  // namespace shadowprof
