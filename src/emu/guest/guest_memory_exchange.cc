// How guest memory and the memory of the process that makes the guest's system calls are kept
// alike.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "emu/guest/guest_memory.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

// Larger ranges are not taken, but fetched again when touched.
constexpr std::uint64_t max_taken_bytes = 64 * page_bytes;

// Whether the kernel may have taken the page away: what is behind the end of a file that was
// truncated is gone, also what was written to a private mapping of it.
bool is_of_file(const MemoryMap& map, GuestAddress page) {
    const auto* mapping = map.find(page);
    return mapping && mapping->is_file();
}

}  // namespace

// Calls visit(chunk, start, end) for each page's part of the range that is resident, in order,
// until it returns false. Returns whether it never did.
template <typename Visit>
bool GuestMemory::for_each_resident_part(const MemoryRange& range, Visit visit) {
    for (const auto number : chunks_in(range.start, range.end)) {
        const auto base = number * chunk_bytes;
        const auto last = std::min(range.end.value, base + chunk_bytes);
        for (auto at = std::max(range.start.value, base); at < last;) {
            const auto page_end = std::min(last, (at | (page_bytes - 1)) + 1);
            // The visit before may have dropped it.
            auto* chunk = chunk_of({at});
            if (!chunk) break;
            if ((chunk->resident & page_bit({at})) && !visit(*chunk, GuestAddress{at}, {page_end}))
                return false;
            at = page_end;
        }
    }
    return true;
}

void GuestMemory::leave_to_kernel(std::vector<MemoryRange> ranges) {
    kernels_ = std::move(ranges);
    std::ranges::sort(kernels_, {}, &MemoryRange::start);
}

bool GuestMemory::is_left_to_kernel(GuestAddress page) const {
    return std::ranges::any_of(kernels_, [&](const MemoryRange& range) {
        return range.start < page + page_bytes && page < range.end;
    });
}

// Brings a part that is resident, except for what the kernel may be writing to.
bool GuestMemory::give_part(GuestAddress start, GuestAddress end, WritableMemory& process) const {
    const auto give = [&](GuestAddress from, GuestAddress to) {
        return to <= from || process.write(from, {host(from), to - from});
    };
    bool all = true;
    for (const auto& range : kernels_) {
        if (range.end <= start) continue;
        if (range.start >= end) break;
        all &= give(start, range.start);
        start = std::max(start, range.end);
    }
    return all && give(start, end);
}

bool GuestMemory::give(std::span<const MemoryRange> ranges, WritableMemory& process) {
    const auto give_dirty = [&](Chunk& chunk, GuestAddress start, GuestAddress end) {
        if (!(chunk.dirty & ~chunk.real & page_bit(start))) return true;
        if (give_part(start, end, process)) return true;
        if (!is_of_file(map_, start)) return false;
        drop_range(start.page(), start.page() + page_bytes);
        return true;
    };
    return std::ranges::all_of(ranges, [&](const MemoryRange& range) {
        return for_each_resident_part(range, give_dirty);
    });
}

bool GuestMemory::give_all(WritableMemory& process) {
    bool all = true;
    std::vector<MemoryRange> left;
    for (const auto& [number, chunk] : chunks_)
        for_each_run(
            static_cast<std::uint32_t>(chunk.dirty & chunk.resident & ~chunk.real),
            [&, base = GuestAddress{number * chunk_bytes}](unsigned first, unsigned count) {
                const auto start = base + first * page_bytes;
                const auto end = start + count * page_bytes;
                if (!give_part(start, end, process)) left.push_back({start, end});
            });
    // Page by page.
    if (!left.empty()) all = give(left, process);
    if (all) clean_pages();
    return all;
}

bool GuestMemory::give_stack(WritableMemory& process) {
    const auto& mappings = map_.mappings();
    const auto stack = std::ranges::find(mappings, "[stack]", &Mapping::name);
    if (stack == mappings.end()) return true;
    return give(std::array{MemoryRange{stack->start, stack->end}}, process);
}

void GuestMemory::share_file(std::uint64_t device, std::uint64_t inode, UniqueFd file) {
    shared_files_[{device, inode}] = std::move(file);
    for (const auto& mapping : map_.mappings())
        if (mapping.shared && mapping.device == device && mapping.inode == inode)
            drop_range(mapping.start, mapping.end);
}

// Null if the mapping is private, or of a file that is not here.
const UniqueFd* GuestMemory::shared_file(const Mapping& mapping) const {
    if (!mapping.shared || shared_files_.empty()) return nullptr;
    const auto found = shared_files_.find({mapping.device, mapping.inode});
    return found == shared_files_.end() ? nullptr : &found->second;
}

bool GuestMemory::place_real(const Mapping& mapping, int file, GuestAddress page) {
    const auto offset = mapping.file_offset + (page - mapping.start);
    void* at = host(page);
    const int rights = mapping.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    if (mmap(at, page_bytes, rights, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
             static_cast<off_t>(offset)) != at)
        return false;
    note_placed(page, 1, false);
    auto* chunk = chunk_of(page);
    chunk->real = static_cast<std::uint16_t>(chunk->real | page_bit(page));
    return true;
}

void GuestMemory::take(std::span<const MemoryRange> ranges, MemoryReader& process) {
    for (const auto& range : ranges) {
        if (range.end <= range.start) continue;
        if (range.end - range.start > max_taken_bytes) {
            const MemoryRange inner{(range.start + (page_bytes - 1)).page(), range.end.page()};
            if (listener_) listener_(inner.start, inner.end);
            drop_range(inner.start, inner.end);
        }
        for_each_resident_part(range, [&](Chunk& chunk, GuestAddress start, GuestAddress end) {
            take_page(chunk, start, end, process);
            return true;
        });
    }
}

void GuestMemory::take_page(Chunk& chunk, GuestAddress start, GuestAddress end,
                            MemoryReader& process) {
    if (chunk.real & page_bit(start)) return;
    const auto* mapping = map_.find(start);
    if (mapping && mapping->executable) tell_of_change(start.page());
    allow_code_write(start);
    // What the guest cannot write to was emptied, or replaced. What cannot be read became a guard.
    const bool is_taken = mapping && mapping->writable && make_dirty(chunk, start.page()) &&
                          process.read(start, {host(start), end - start});
    if (!is_taken) drop_range(start.page(), start.page() + page_bytes);
}

}  // namespace shadowprof
