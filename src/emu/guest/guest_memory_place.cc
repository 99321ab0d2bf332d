// How the guest's memory is put among this process's own, and moved there.
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "emu/guest/guest_memory.h"
#include "emu/guest/guest_place.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

// False if `to` is not free.
bool move_memory(std::span<std::byte> from, std::byte* to) {
    const auto bytes = from.size();
    const void* reserved =
        mmap(to, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (reserved != to) return false;
    if (mremap(from.data(), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to) return true;
    munmap(to, bytes);
    return false;
}

}  // namespace

MemoryMap GuestMemory::read_own_map() {
    std::ifstream in("/proc/self/maps");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    auto map = MemoryMap::parse(text);
    return map ? std::move(map).value() : MemoryMap{};
}

std::optional<std::uint64_t> GuestMemory::choose_delta() const {
    return GuestPlace(map_, own_).choose(bases_);
}

bool GuestMemory::fits(std::uint64_t delta) const {
    return GuestPlace(map_, own_).fits(delta);
}

bool GuestMemory::fits(const Mapping& m, std::uint64_t delta) const {
    return GuestPlace(map_, own_).fits(m, delta);
}

// Chooses another delta if the mappings do not fit at the present one. False if there is none, or
// if the pages could not be moved.
bool GuestMemory::make_room() {
    if (fits(delta_)) return true;
    const auto delta = choose_delta();
    return delta && move_pages(*delta);
}

// Moves all resident pages to another delta, starting at the side that they move to, so that a
// page's new place is free. False if that failed and all pages are lost.
bool GuestMemory::move_pages(std::uint64_t delta) {
    const auto distance = delta - delta_;
    const bool up = static_cast<std::int64_t>(distance) > 0;
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, chunk] : chunks_) numbers.push_back(number);
    std::ranges::sort(numbers);
    if (up) std::ranges::reverse(numbers);
    bool all_moved = (up ? distance : 0 - distance) >= chunk_bytes;
    std::vector<std::span<std::byte>> places;
    for (const auto number : numbers)
        for_each_run(chunks_[number].in_place(), [&](unsigned first, unsigned count) {
            const std::span from(host({number * chunk_bytes + first * page_bytes}),
                                 count * page_bytes);
            const std::span to(from.data() + distance, from.size());
            all_moved = all_moved && move_memory(from, to.data());
            places.push_back(all_moved ? to : from);
        });
    delta_ = delta;
    if (all_moved) return true;
    for (const auto place : places) munmap(place.data(), place.size());
    chunks_.clear();
    return false;
}

std::optional<GuestAddress> GuestMemory::find_free(std::uint64_t size_bytes) const {
    // Below the stack, in the topmost gap that is large enough, with a guard page on each side.
    const auto& all = map_.mappings();
    const auto wanted = size_bytes + 2 * page_bytes;
    GuestAddress top{GuestPlace::user_end};
    std::optional<GuestAddress> elsewhere;  // does not fit at the present delta
    for (auto m = all.rbegin(); m != all.rend(); ++m) {
        if (m->end.value > GuestPlace::user_end) continue;
        const bool below_stack = top.value != GuestPlace::user_end;
        if (below_stack && m->end < top && top - m->end >= wanted) {
            const auto start = top - size_bytes - page_bytes;
            if (fits({.start = start, .end = start + size_bytes}, delta_)) return start;
            if (!elsewhere) elsewhere = start;
        }
        top = m->name == "[stack]" ? m->start - GuestPlace::stack_growth_bytes : m->start;
    }
    return elsewhere;
}

}  // namespace shadowprof
