#include "profile/code/block_registry.h"

#include <Zydis/Zydis.h>

#include <bit>

#include "profile/code/index_table.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_block_bytes = 1 << 16;

std::uint64_t hash_of(const CanonicalBlock& b) {
    return mix64(location_hash(b.start) ^ (b.end.address - b.start.address));
}

bool same_block(const CanonicalBlock& a, const CanonicalBlock& b) {
    return a.start == b.start && a.end == b.end && a.last == b.last &&
           a.instructions == b.instructions && a.terminator == b.terminator;
}

CanonicalBlock canonical(const BlockInfo& block, CodeLocation start) {
    return {.start = start,
            .last = {start.module, start.address + (block.last - block.start)},
            .end = {start.module, start.address + (block.end - block.start)},
            .guest_start = block.start,
            .guest_last = block.last,
            .guest_target = block.target,
            .instructions = block.instructions,
            .terminator = block.terminator};
}

bool is_plausible(ValueType type) {
    return type.kind <= ValueType::Kind::bits && std::has_single_bit(type.lane_bytes) &&
           type.lane_bytes <= 64;
}

}  // namespace

bool is_plausible(const BlockInfo& b) {
    const bool shape = b.start <= b.last && b.last < b.end && b.end - b.start <= max_block_bytes &&
                       b.instructions >= 1 && b.instructions <= b.end - b.start;
    const bool kinds = b.terminator <= Terminator::single_stepped && b.level < TraceLevel::none;
    const bool values = b.level != TraceLevel::blocks || (b.slots == 0 && b.value_words == 0);
    return shape && kinds && values;
}

bool is_plausible(const ValueSlot& slot, std::span<const ValueSlot> before,
                  const BlockInfo& block) {
    const bool result = slot.instruction_offset < block.end - block.start &&
                        std::has_single_bit(slot.width_bytes) && slot.width_bytes <= 64 &&
                        slot.reg <= ZYDIS_REGISTER_MAX_VALUE && is_plausible(slot.type);
    if (slot.words != 0) return result && slot.words <= 8 && slot.words * 8 >= slot.width_bytes;
    if (slot.source == ValueSlot::no_source) return result;
    return result && slot.width_bytes <= 8 && slot.source < before.size() &&
           before[slot.source].words == 1 && before[slot.source].width_bytes <= 8;
}

bool is_plausible(const ReferenceSlot& slot, std::span<const ReferenceSlot> before,
                  const BlockInfo& block) {
    constexpr std::uint16_t max_bytes = 8192;  // an area of processor state
    const auto access = slot.flags & (ReferenceSlot::load | ReferenceSlot::store);
    const bool in_order = before.empty() ? true : slot.instruction >= before.back().instruction;
    if (slot.instruction_offset >= block.end - block.start ||
        slot.instruction >= block.instructions || !in_order || slot.words > 1 ||
        slot.bytes > max_bytes || slot.flags > ReferenceSlot::all_flags ||
        (slot.bytes == 0) != (access == 0))
        return false;
    if (slot.source == ReferenceSlot::no_source) return slot.bytes != 0 || slot.words == 0;
    return slot.words == 0 && slot.source < before.size() && before[slot.source].words == 1;
}

std::optional<BlockToken> BlockRegistry::token(const BlockInfo& info, AddressResolver& resolver) {
    const CanonicalBlock block = canonical(info, resolver.resolve(info.start));
    const std::uint64_t hash = hash_of(block);
    std::lock_guard lock(mutex_);
    auto found = block_index_.find(
        hash, [&](std::uint32_t index) { return same_block(blocks_[index], block); });
    if (found) return *found + 1;
    if (blocks_.size() == max_blocks) return std::nullopt;
    block_index_.insert(hash, blocks_.size());
    blocks_.push_back(block);
    if (find_function_) blocks_.back().function = find_function_(block.start);
    return static_cast<BlockToken>(blocks_.size());
}

CanonicalBlock BlockRegistry::block(BlockToken token) const {
    std::lock_guard lock(mutex_);
    return blocks_.at(token - 1);
}

std::size_t BlockRegistry::blocks() const {
    std::lock_guard lock(mutex_);
    return blocks_.size();
}

std::optional<SiteId> BlockRegistry::site_id(const ValueSite& site) {
    const std::uint64_t hash = mix64(location_hash(site.at) ^ site.reg ^
                                     (static_cast<std::uint64_t>(site.width_bytes) << 16));
    std::lock_guard lock(mutex_);
    auto found = site_index_.find(hash, [&](std::uint32_t index) { return sites_[index] == site; });
    if (found) return *found;
    if (sites_.size() == max_sites) return std::nullopt;
    site_index_.insert(hash, sites_.size());
    sites_.push_back(site);
    return static_cast<SiteId>(sites_.size() - 1);
}

ValueSite BlockRegistry::site(SiteId id) const {
    std::lock_guard lock(mutex_);
    return sites_.at(id);
}

}  // namespace shadowprof
