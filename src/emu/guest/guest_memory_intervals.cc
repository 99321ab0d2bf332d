// How guest memory is kept from one interval to the next: which pages a run has written to, and
// which of them still equal the source's.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "emu/guest/guest_memory.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

// A page that is written to often costs a fault each time after it was made clean, and a comparison
// for each interval that it stays dirty.
constexpr std::uint16_t longest_patience = 64;
// Larger ranges are dropped, and fetched again when touched.
constexpr std::uint64_t max_reread_bytes = 64 * page_bytes;
constexpr std::size_t max_replaced_differences = 16;

// Whether two mappings show the same bytes in the same way where they overlap.
bool show_alike(const Mapping& a, const Mapping& b) {
    const bool same_rights = a.readable == b.readable && a.writable == b.writable &&
                             a.executable == b.executable && a.shared == b.shared;
    const bool same_place =
        a.device == b.device && a.inode == b.inode &&
        (!a.is_file() || a.start.value - a.file_offset == b.start.value - b.file_offset);
    return same_rights && same_place;
}

// Calls visit(start, end) for each part of `m` that `map` shows differently or not at all.
template <typename Visit>
void for_each_changed_part(const Mapping& m, const MemoryMap& map, Visit visit) {
    for (auto at = m.start; at < m.end;) {
        const auto* next = map.find_at_or_after(at);
        if (!next || m.end <= next->start) return visit(at, m.end);
        if (at < next->start) {
            visit(at, next->start);
            at = next->start;
        }
        const auto end = std::min(next->end, m.end);
        if (!show_alike(m, *next)) visit(at, end);
        at = end;
    }
}

}  // namespace

void GuestMemory::next_interval() {
    fresh_.clear();
    layout_changed_ = false;
    if (!std::exchange(compared_, false)) return;
    replaced_differences_.clear();
    clean_pages();
}

void GuestMemory::clean_pages() {
    ++comparisons_;
    for (auto& [number, chunk] : chunks_) {
        if (!chunk.dirty || comparisons_ - chunk.dirty_since < chunk.patience) continue;
        const GuestAddress base{number * chunk_bytes};
        for_each_run(static_cast<std::uint32_t>(chunk.dirty & chunk.resident & ~chunk.watched),
                     [&](unsigned first, unsigned count) {
                         mprotect(host(base + first * page_bytes), count * page_bytes, PROT_READ);
                     });
        chunk.dirty = 0;
        chunk.clean_since = comparisons_;
    }
}

bool GuestMemory::make_dirty(Chunk& chunk, GuestAddress page) {
    if (chunk.dirty & ~chunk.watched & page_bit(page)) return true;
    if (mprotect(host(page), page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    note_dirty(chunk, page_bit(page));
    return true;
}

void GuestMemory::note_dirty(Chunk& chunk, std::uint16_t pages) {
    if (!chunk.dirty) {
        const bool soon = comparisons_ - chunk.clean_since < 2u * chunk.patience;
        chunk.patience = soon
                             ? std::min<std::uint16_t>(
                                   longest_patience, static_cast<std::uint16_t>(2 * chunk.patience))
                             : std::uint16_t{1};
        chunk.dirty_since = comparisons_;
    }
    chunk.dirty = static_cast<std::uint16_t>(chunk.dirty | pages);
}

// Whether the chunk before is dirty as a whole. Then writes are likely to go on here.
bool GuestMemory::goes_on_dirty(const Mapping& mapping, GuestAddress chunk_start) {
    const auto* before = chunk_of(chunk_start - page_bytes);
    return before && before->dirty == all_pages && !mapping.shared;
}

// Each first write to a page costs a signal. So the more pages of a chunk were written to, the more
// of them become dirty at once.
bool GuestMemory::make_dirty_around(const Mapping& mapping, GuestAddress address) {
    const GuestAddress chunk_start{address.value & ~(chunk_bytes - 1)};
    auto& chunk = *chunk_of(address);
    if (!make_dirty(chunk, address.page())) return false;
    if (mapping.shared) return true;
    const auto written = static_cast<unsigned>(std::popcount(chunk.dirty));
    const unsigned pages =
        goes_on_dirty(mapping, chunk_start) ? chunk_pages : std::bit_floor(written);
    const auto inside = pages_between(std::max(chunk_start, mapping.start),
                                      std::min(chunk_start + chunk_bytes, mapping.end));
    for_each_run(static_cast<std::uint32_t>(pages_around(address, pages) & inside & chunk.resident &
                                            ~chunk.dirty & ~chunk.watched & ~chunk.real),
                 [&](unsigned first, unsigned count) {
                     const auto start = chunk_start + first * page_bytes;
                     const auto bytes = count * page_bytes;
                     if (mprotect(host(start), bytes, PROT_READ | PROT_WRITE) == 0)
                         note_dirty(chunk, pages_between(start, start + bytes));
                 });
    return true;
}

bool GuestMemory::change_layout(MemoryMap map) {
    std::swap(map_, map);
    for (const auto& mapping : map.mappings())
        for_each_changed_part(mapping, map_, [&](GuestAddress start, GuestAddress end) {
            if (listener_) listener_(start, end);
            drop_range(start, end);
        });
    return make_room();
}

void GuestMemory::refresh(std::span<const MemoryRange> changed) {
    for (const auto& range : changed) {
        if (range.end <= range.start) continue;
        const auto first_page = range.start.page();
        const auto last_page = (range.end - 1).page();
        if (range.end - range.start <= max_reread_bytes) {
            // Compares distances, as the address behind the last page may wrap to 0.
            for (std::uint64_t at = 0; at <= last_page - first_page; at += page_bytes)
                reread(first_page + at, changed);
            continue;
        }
        reread(first_page, changed);
        reread(last_page, changed);
        if (listener_) listener_(first_page + page_bytes, last_page);
        drop_range(first_page + page_bytes, last_page);
    }
}

void GuestMemory::refresh_writable() {
    for (const auto& mapping : map_.mappings())
        if (mapping.writable || mapping.shared || !mapping.is_file())
            drop_range(mapping.start, mapping.end);
}

void GuestMemory::reread(GuestAddress page, std::span<const MemoryRange> changed) {
    auto* chunk = chunk_of(page);
    if (!chunk || !(chunk->resident & page_bit(page))) return;
    std::array<std::byte, page_bytes> native;
    if (!source_->read_pages(page, native)) return drop_range(page, page + page_bytes);
    if (chunk->dirty & page_bit(page)) compare_rest(page, changed, native);
    allow_code_write(page);
    const auto* mapping = map_.find(page);
    const bool is_writable = mapping && mapping->writable;
    if (is_writable && !make_dirty(*chunk, page)) return drop_range(page, page + page_bytes);
    if (std::memcmp(host(page), native.data(), page_bytes) == 0) return;
    // Executable memory that is not writable here is not watched.
    if (mapping && mapping->executable) tell_of_change(page);
    // What the guest cannot write to was emptied, or replaced.
    if (!is_writable) return drop_range(page, page + page_bytes);
    std::memcpy(host(page), native.data(), page_bytes);
}

// Records the first difference outside of the changed ranges.
void GuestMemory::compare_rest(GuestAddress page, std::span<const MemoryRange> changed,
                               std::span<const std::byte> native) {
    const auto emulated = std::span<const std::byte>(host(page), page_bytes);
    for (std::size_t i = 0; i < page_bytes; ++i) {
        const auto at = page + i;
        const auto covers = [&](const MemoryRange& r) { return r.start <= at && at < r.end; };
        if (native[i] == emulated[i] || std::ranges::any_of(changed, covers)) continue;
        if (replaced_differences_.size() < max_replaced_differences)
            replaced_differences_.push_back({at, std::to_integer<std::uint8_t>(emulated[i]),
                                             std::to_integer<std::uint8_t>(native[i])});
        return;
    }
}

}  // namespace shadowprof
