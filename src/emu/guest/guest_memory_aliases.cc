// Files that are mapped shared more than once: what is written through one mapping shows in the
// others.
#include <sys/mman.h>

#include <algorithm>

#include "emu/guest/guest_memory.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

bool show_the_same_file(const Mapping& a, const Mapping& b) {
    return a.shared && b.shared && a.is_file() && a.inode == b.inode && a.device == b.device;
}

// The address at which `mapping` shows `offset` of its file; nothing if it does not show it.
std::optional<GuestAddress> place_of(std::uint64_t offset, const Mapping& mapping) {
    const auto inside = offset - mapping.file_offset;
    if (offset < mapping.file_offset || inside >= mapping.size_bytes()) return std::nullopt;
    return mapping.start + inside;
}

// Makes the same memory appear at a second address. False if that is not free.
bool show_again(std::byte* memory, std::byte* at) {
    const void* reserved =
        mmap(at, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (reserved != at) return false;
    if (mremap(memory, 0, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at) return true;
    munmap(at, page_bytes);
    return false;
}

}  // namespace

bool GuestMemory::is_aliased(const Mapping& mapping) const {
    return mapping.shared && std::ranges::any_of(map_.mappings(), [&](const Mapping& other) {
               return other.start != mapping.start && show_the_same_file(mapping, other);
           });
}

// Visits the other addresses of a page. False if it has none.
bool GuestMemory::for_each_alias(GuestAddress page,
                                 const std::function<void(GuestAddress)>& visit) const {
    const auto* mapping = map_.find(page);
    if (!mapping || !mapping->shared || !mapping->is_file()) return false;
    const auto offset = mapping->file_offset + (page.page() - mapping->start);
    bool found = false;
    for (const auto& other : map_.mappings()) {
        if (other.start == mapping->start || !show_the_same_file(*mapping, other)) continue;
        const auto alias = place_of(offset, other);
        if (!alias) continue;
        found = true;
        visit(*alias);
    }
    return found;
}

// If the page is in place at another address, the same memory is shown.
bool GuestMemory::place_alias(const Mapping& mapping, GuestAddress page) {
    std::optional<GuestAddress> resident;
    bool has_code = false;
    for_each_alias(page, [&](GuestAddress alias) {
        if (is_resident(alias)) resident = alias;
        has_code |= aliased_code_.contains(alias);
    });
    const bool starts_dirty = mapping.writable && use_ != PageUse::tracked;
    if (!resident) {
        if (!place_pages(mapping, page, 1, starts_dirty)) return false;
    } else {
        if (!show_again(host(*resident), host(page))) return false;
        const int rights = starts_dirty ? PROT_READ | PROT_WRITE : PROT_READ;
        mprotect(host(page), page_bytes, rights);
        note_placed(page, 1, starts_dirty);
    }
    if (has_code) watch(page);
    return true;
}

}  // namespace shadowprof
