#include "emu/guest/guest_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "emu/guest/guest_place.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

// A stack does not grow nearer to what lies below it (stack_guard_gap of Linux).
constexpr std::uint64_t stack_gap_bytes = 256 * page_bytes;

// How many pages are fetched at the first touch of a chunk; a power of two.
constexpr unsigned few_pages = 4;

bool is_accessible(const Mapping& m) {
    return m.readable || m.writable || m.executable;
}

}  // namespace

void PageRanges::add(GuestAddress start, GuestAddress end) {
    auto first = start.value;
    auto last = end.value;
    auto it = ranges_.upper_bound(first);
    if (it != ranges_.begin() && std::prev(it)->second >= first) --it;
    while (it != ranges_.end() && it->first <= last) {
        first = std::min(first, it->first);
        last = std::max(last, it->second);
        it = ranges_.erase(it);
    }
    ranges_[first] = last;
}

bool PageRanges::contains(GuestAddress address) const {
    auto it = ranges_.upper_bound(address.value);
    return it != ranges_.begin() && address.value < std::prev(it)->second;
}

GuestMemory::GuestMemory(CodeChangeListener listener, SegmentBases bases)
    : listener_(std::move(listener)), bases_(bases), own_(read_own_map()) {}

GuestMemory::~GuestMemory() {
    end();
}

Result<void> GuestMemory::begin(MemoryMap map, PageSource& source, PageUse use) {
    const bool goes_on = std::exchange(keeps_, false) && use == PageUse::again;
    if (!goes_on) end();
    source_ = &source;
    use_ = use;
    layout_changed_ = compared_ = has_run_ = false;
    learns_ = true;
    replaced_differences_.clear();
    if (goes_on) {
        if (change_layout(std::move(map))) return {};
        map = std::move(map_);
        end();
        source_ = &source;
    }
    map_ = std::move(map);
    const auto delta = choose_delta();
    if (!delta)
        return Error{ErrorCode::unsupported, 0,
                     "emulator: no distance at which all of the program's mappings are free here"};
    delta_ = *delta;
    return {};
}

void GuestMemory::drop_pages() {
    drop_range({0}, {~std::uint64_t{0}});
}

void GuestMemory::end() {
    drop_pages();
    fresh_.clear();
    aliased_code_.clear();
    kernels_.clear();
    shared_files_.clear();
    map_ = {};
    source_ = nullptr;
    keeps_ = false;
}

void GuestMemory::end_sample() {
    if (use_ != PageUse::again) return end();
    keep_pages();
    source_ = nullptr;
    keeps_ = true;
}

GuestMemory::Chunk* GuestMemory::chunk_of(GuestAddress address) {
    auto it = chunks_.find(address.value / chunk_bytes);
    return it == chunks_.end() ? nullptr : &it->second;
}

bool GuestMemory::is_resident(GuestAddress address) {
    const auto* chunk = chunk_of(address);
    return chunk && (chunk->resident & page_bit(address));
}

GuestMemory::Fault GuestMemory::on_fault(GuestAddress address, bool is_write) {
    const auto* mapping = map_.find(address);
    if (!mapping) return grow_stack(address) ? Fault::resolved : Fault::guest;
    if (!is_accessible(*mapping) || (is_write && !mapping->writable)) return Fault::guest;
    auto* chunk = chunk_of(address);
    if (!chunk || !(chunk->resident & page_bit(address))) {
        if (!fetch(*mapping, address, is_write))
            return mapping->is_file() ? Fault::unreadable : Fault::guest;
        chunk = chunk_of(address);
        if (learns_)
            chunk->touched = static_cast<std::uint16_t>(chunk->touched | page_bit(address));
        if (is_write && use_ == PageUse::tracked && !(chunk->dirty & page_bit(address)))
            make_dirty_around(*mapping, address);
        return Fault::resolved;
    }
    if (is_write && (chunk->watched & page_bit(address))) return Fault::code_write;
    if (is_write && !(chunk->dirty & page_bit(address)) && make_dirty_around(*mapping, address))
        return Fault::resolved;
    return Fault::guest;
}

bool GuestMemory::fetch(const Mapping& mapping, GuestAddress address, bool is_write) {
    ++counters_.fetches;
    if (auto* known = chunk_of(address); known && (known->kept & page_bit(address))) {
        if (!use_kept(mapping, address.page(), 1)) return false;
        if (learns_) known->again = static_cast<std::uint16_t>(known->again | page_bit(address));
        return true;
    }
    const GuestAddress chunk_start{address.value & ~(chunk_bytes - 1)};
    const auto first = std::max(chunk_start, mapping.start);
    const auto last = std::min(chunk_start + chunk_bytes, mapping.end);
    auto& chunk = chunks_[address.value / chunk_bytes];
    std::uint16_t wanted = 0;
    const bool fresh = fresh_.contains(address);
    for (auto page = first; page < last; page = page + page_bytes)
        if (fresh_.contains(page) == fresh)
            wanted = static_cast<std::uint16_t>(wanted | page_bit(page));
    // The first touch of a chunk may well be its only one, unless it goes on from the chunk before.
    // Where pages stay in place, the needed ones are there soon, and reading others would lengthen
    // the stop: there, each touch doubles what is read.
    const auto* before = chunk_of(chunk_start - page_bytes);
    const bool goes_on = before && before->in_place() == all_pages;
    const bool starts_dirty =
        use_ != PageUse::tracked || (is_write && goes_on_dirty(mapping, chunk_start));
    unsigned pages = chunk.in_place() || goes_on ? chunk_pages : few_pages;
    if (use_ == PageUse::again)
        pages = std::min(1u << std::popcount(chunk.touched), unsigned{chunk_pages});
    // A source that has taken over this sample's writes may show a fresh page, or have none.
    if (fresh && use_ == PageUse::tracked) pages = 1;
    wanted = static_cast<std::uint16_t>(wanted & pages_around(address, pages));
    wanted = static_cast<std::uint16_t>(wanted & ~chunk.in_place());
    if (const auto* file = shared_file(mapping))
        return place_real(mapping, file->get(), address.page());
    if (is_aliased(mapping)) return place_alias(mapping, address.page());
    for_each_run(wanted, [&](unsigned start, unsigned count) {
        place_pages(mapping, chunk_start + start * page_bytes, count, starts_dirty);
    });
    // A page amid readable ones may be unreadable: then only the touched page is placed.
    return is_resident(address) || place_pages(mapping, address.page(), 1, starts_dirty);
}

bool GuestMemory::place_pages(const Mapping& mapping, GuestAddress first, std::uint64_t pages,
                              bool starts_dirty) {
    const auto bytes = pages * page_bytes;
    starts_dirty = starts_dirty && mapping.writable;
    void* at = host(first);
    const int sharing = mapping.shared ? MAP_SHARED : MAP_PRIVATE;
    void* placed = mmap(at, bytes, PROT_READ | PROT_WRITE,
                        sharing | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (placed == MAP_FAILED) return false;
    const bool fresh = fresh_.contains(first);
    const bool ok = placed == at &&
                    ((fresh && use_ != PageUse::tracked) ||
                     source_->read_pages(first, {static_cast<std::byte*>(at), bytes}) || fresh) &&
                    (starts_dirty || mprotect(at, bytes, PROT_READ) == 0);
    if (!ok) {
        munmap(placed, bytes);
        return false;
    }
    counters_.pages_fetched += pages;
    note_placed(first, pages, starts_dirty);
    return true;
}

void GuestMemory::note_placed(GuestAddress first, std::uint64_t pages, bool starts_dirty) {
    auto& chunk = chunks_[first.value / chunk_bytes];
    for (std::uint64_t i = 0; i < pages; ++i) {
        const auto bit = page_bit(first + i * page_bytes);
        chunk.resident = static_cast<std::uint16_t>(chunk.resident | bit);
        chunk.kept = static_cast<std::uint16_t>(chunk.kept & ~bit);
        if (starts_dirty) note_dirty(chunk, bit);
    }
}

bool GuestMemory::grow_stack(GuestAddress address) {
    const auto* above = map_.find_at_or_after(address);
    if (!above || above->name != "[stack]" || above->end - address.page() > stack_limit_bytes_)
        return false;
    const auto* below = map_.find_at_or_after(address.page() - stack_gap_bytes);
    if (below != above && is_accessible(*below)) return false;
    Mapping grown = *above;
    const auto old_start = grown.start;
    grown.start = address.page();
    replace(grown.start, grown.end, {grown});
    fresh_.add(grown.start, old_start);
    return fetch(grown, address, false);
}

std::span<const std::byte> GuestMemory::readable_bytes(GuestAddress address) {
    if (!is_resident(address) && on_fault(address, false) != Fault::resolved) return {};
    return {host(address), page_bytes - address.value % page_bytes};
}

std::span<const std::byte> GuestMemory::executable_bytes(GuestAddress address) {
    const auto* mapping = map_.find(address);
    if (!mapping || !mapping->executable) return {};
    return readable_bytes(address);
}

bool GuestMemory::fill(GuestAddress from, std::span<const std::byte> bytes) {
    if (readable_bytes(from).size() < bytes.size()) return false;
    const auto* chunk = chunk_of(from);
    const bool is_open = (chunk->dirty & page_bit(from)) && !(chunk->watched & page_bit(from));
    auto* const page = host(from.page());
    if (!is_open && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    std::memcpy(host(from), bytes.data(), bytes.size());
    return is_open || mprotect(page, page_bytes, PROT_READ) == 0;
}

void GuestMemory::watch_code_page(GuestAddress page) {
    watch(page);
    if (!for_each_alias(page, [&](GuestAddress alias) { watch(alias); })) return;
    aliased_code_.insert(page.page());
}

void GuestMemory::watch(GuestAddress page) {
    const auto* mapping = map_.find(page);
    auto* chunk = chunk_of(page);
    if (!mapping || !mapping->writable || !chunk || !(chunk->resident & page_bit(page))) return;
    if (chunk->watched & page_bit(page)) return;
    if (mprotect(host(page.page()), page_bytes, PROT_READ) == 0)
        chunk->watched = static_cast<std::uint16_t>(chunk->watched | page_bit(page));
}

void GuestMemory::allow_code_write(GuestAddress page) {
    auto* chunk = chunk_of(page);
    if (!chunk || !(chunk->watched & page_bit(page))) return;
    ++counters_.code_writes;
    if (make_dirty(*chunk, page.page()))
        chunk->watched = static_cast<std::uint16_t>(chunk->watched & ~page_bit(page));
    tell_of_change(page.page());
}

void GuestMemory::tell_of_change(GuestAddress page) {
    if (!listener_) return;
    listener_(page, page + page_bytes);
    for_each_alias(page, [&](GuestAddress alias) {
        aliased_code_.erase(alias);
        listener_(alias, alias + page_bytes);
    });
}

void GuestMemory::for_each_dirty_page(
    const std::function<void(GuestAddress, std::span<const std::byte>)>& visit) const {
    for (const auto& [number, chunk] : chunks_)
        for_each_run(
            static_cast<std::uint32_t>(chunk.dirty & chunk.resident),
            [&, base = GuestAddress{number * chunk_bytes}](unsigned first, unsigned count) {
                for (unsigned i = first; i < first + count; ++i) {
                    const auto page = base + i * page_bytes;
                    visit(page, {host(page), page_bytes});
                }
            });
}

bool GuestMemory::read(GuestAddress from, std::span<std::byte> to) {
    while (!to.empty()) {
        const auto bytes = readable_bytes(from);
        if (bytes.empty()) return false;
        const auto count = std::min(bytes.size(), to.size());
        std::memcpy(to.data(), bytes.data(), count);
        to = to.subspan(count);
        from = from + count;
    }
    return true;
}

bool GuestMemory::write(GuestAddress to, std::span<const std::byte> from) {
    while (!from.empty()) {
        const auto* mapping = map_.find(to);
        if (mapping ? !mapping->writable : !grow_stack(to)) return false;
        if (readable_bytes(to).empty()) return false;
        allow_code_write(to);
        auto* chunk = chunk_of(to);
        if (!(chunk->dirty & page_bit(to)) && !make_dirty(*chunk, to.page())) return false;
        const auto count = std::min(page_bytes - to.value % page_bytes, from.size());
        std::memcpy(host(to), from.data(), count);
        from = from.subspan(count);
        to = to + count;
    }
    return true;
}

bool GuestMemory::map(const Mapping& mapping) {
    if (mapping.end <= mapping.start || mapping.end.value > GuestPlace::user_end) return false;
    if (listener_) listener_(mapping.start, mapping.end);
    drop_range(mapping.start, mapping.end);
    replace(mapping.start, mapping.end, {mapping});
    fresh_.add(mapping.start, mapping.end);
    return fits(mapping, delta_) || make_room();
}

bool GuestMemory::unmap(GuestAddress start, std::uint64_t size_bytes) {
    if (listener_) listener_(start, start + size_bytes);
    drop_range(start, start + size_bytes);
    replace(start, start + size_bytes, {});
    fresh_.add(start, start + size_bytes);
    return true;
}

bool GuestMemory::protect(GuestAddress start, std::uint64_t size_bytes, Protection protection) {
    const auto end = start + size_bytes;
    std::vector<Mapping> changed;
    bool was_code = false;
    for (auto at = start; at < end;) {
        const auto* m = map_.find(at);
        if (!m) return false;
        was_code |= m->executable;
        Mapping piece = *m;
        piece.start = at;
        piece.file_offset += at - m->start;
        piece.end = std::min(m->end, end);
        piece.readable = protection.readable;
        piece.writable = protection.writable;
        piece.executable = protection.executable;
        at = piece.end;
        changed.push_back(std::move(piece));
    }
    if (listener_ && (protection.writable || (was_code && !protection.executable)))
        listener_(start, end);
    replace(start, end, std::move(changed));
    for (auto page = start; page < end; page = page + page_bytes) {
        auto* chunk = chunk_of(page);
        if (!chunk) {
            page = GuestAddress{page.value | (chunk_bytes - 1)}.page();
            continue;
        }
        if (!(chunk->resident & page_bit(page))) continue;
        const bool writable = protection.writable && !(chunk->watched & page_bit(page));
        int host_bits = PROT_NONE;
        if (protection.readable || protection.executable) host_bits = PROT_READ;
        if (writable) host_bits = PROT_READ | PROT_WRITE;
        mprotect(host(page), page_bytes, host_bits);
        if (writable) chunk->dirty = static_cast<std::uint16_t>(chunk->dirty | page_bit(page));
    }
    return true;
}

void GuestMemory::replace(GuestAddress start, GuestAddress end, std::vector<Mapping> pieces) {
    map_.replace(start, end, std::move(pieces));
    layout_changed_ = true;
}

// The numbers of the chunks that have a part of the range, in order.
std::vector<std::uint64_t> GuestMemory::chunks_in(GuestAddress start, GuestAddress end) const {
    std::vector<std::uint64_t> numbers;
    if (end <= start) return numbers;
    const auto first = start.value / chunk_bytes, last = (end.value - 1) / chunk_bytes;
    if (last - first < chunks_.size()) {
        for (auto number = first; number <= last; ++number)
            if (chunks_.contains(number)) numbers.push_back(number);
        return numbers;
    }
    for (const auto& [number, chunk] : chunks_)
        if (first <= number && number <= last) numbers.push_back(number);
    std::ranges::sort(numbers);
    return numbers;
}

void GuestMemory::drop_range(GuestAddress start, GuestAddress end) {
    for (const auto number : chunks_in(start, end)) {
        const GuestAddress base{number * chunk_bytes};
        auto& chunk = chunks_.at(number);
        std::uint16_t inside = 0;
        for (std::uint64_t i = 0; i < chunk_pages; ++i) {
            const auto page = base + i * page_bytes;
            if (start <= page && page < end)
                inside = static_cast<std::uint16_t>(inside | page_bit(page));
        }
        for_each_run(static_cast<std::uint32_t>(inside & chunk.in_place()),
                     [&](unsigned first, unsigned count) {
                         munmap(host(base + first * page_bytes), count * page_bytes);
                     });
        for (auto* bits : {&chunk.resident, &chunk.kept, &chunk.hot, &chunk.touched, &chunk.again,
                           &chunk.on_trial, &chunk.dirty, &chunk.watched, &chunk.real})
            *bits = static_cast<std::uint16_t>(*bits & ~inside);
        if (!chunk.in_place()) chunks_.erase(number);
    }
}

}  // namespace shadowprof
