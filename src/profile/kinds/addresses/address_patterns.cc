#include "profile/kinds/addresses/address_patterns.h"

#include <algorithm>
#include <cmath>

#include "profile/statistics/count_limits.h"

namespace shadowprof {

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
        if (loads_.size() == max_loads) return;
        loads_.emplace_back().site = r.site;
        by_site_[r.site] = static_cast<std::uint32_t>(loads_.size());
    }
    Load& load = loads_[by_site_[r.site] - 1];
    if (load.last_burst == burst_)
        load.take(load.last_address, r.address, weight, [&] {
            return r.is(ReferenceSlot::direct) && (r.address_registers & loaded_) != 0;
        });
    load.last_address = r.address;
    load.last_burst = burst_;
}

std::uint64_t AddressMoves::strided() const {
    std::uint64_t sum = 0;
    for (const auto& [distance, count] : strides) add_moves(sum, count);
    return sum;
}

std::int64_t AddressMoves::stride() const {
    const auto most = std::ranges::max_element(strides, {}, [](const auto& s) { return s.second; });
    return most == strides.end() ? 0 : most->first;
}

AddressMoves address_moves(std::uint64_t constant, std::uint64_t moved, std::uint64_t chased,
                           const StrideCounts::Entry& stride) {
    AddressMoves moves{.constant = constant};
    const auto strided = std::min(stride.count, moved);
    if (strided != 0) moves.strides[stride.stride] = strided;
    const auto rest = moved - strided;
    // Whether moves by the stride were chased is not known, so chased moves are split in
    // proportion.
    const auto share = moved == 0 ? 0 : static_cast<double>(chased) / static_cast<double>(moved);
    moves.chased =
        std::min(rest, static_cast<std::uint64_t>(std::llround(static_cast<double>(rest) * share)));
    moves.irregular = rest - moves.chased;
    return moves;
}

}  // namespace shadowprof
