// Where the guest's memory lies among this process's own, and how it is moved.
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "emu/guest/guest_memory.h"
#include "emu/guest/page_bits.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t mmap_minimum = 0x10000;
constexpr std::uint64_t down_step = 0x0080'0000'0000;
// Moves programs to between a position-independent program and its libraries, which is most likely
// free here, even where sanitizers reserve memory.
constexpr std::uint64_t usual_shift = 0x2000'0000'0000;
// Kept free below a stack, the guest's and ours, whatever its limit is.
constexpr std::uint64_t stack_growth_bytes = std::uint64_t{8} << 20;

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
    if (map_.mappings().empty()) return 0;
    if (bases_ == SegmentBases::by_kernel) return fits(0) ? 0 : delta_upwards();
    if (const auto down = delta_downwards()) return down;
    const auto up = delta_upwards();
    return !up && fits(0) ? 0 : up;
}

std::optional<std::uint64_t> GuestMemory::delta_downwards() const {
    // Preferably below everything of this process, so that no guest address reaches it.
    const auto out_of_reach = own_.mappings().empty() ? 0 : distance_below_own();
    if (out_of_reach != 0 && fits(0 - out_of_reach)) return 0 - out_of_reach;
    if (fits(0 - usual_shift)) return 0 - usual_shift;
    const auto lowest = map_.mappings().front().start.value;
    for (auto down = lowest & ~(down_step - 1); down >= down_step; down -= down_step)
        if (fits(0 - down)) return 0 - down;
    return std::nullopt;
}

// The greatest distance that fits, of those that are tried.
std::optional<std::uint64_t> GuestMemory::delta_upwards() const {
    std::uint64_t highest = 0;
    for (const auto& m : map_.mappings())
        if (m.end.value <= user_end) highest = std::max(highest, m.end.value);
    for (std::uint64_t up = (user_end - highest) & ~(page_bytes - 1); up >= page_bytes;
         up = (up - up / 8 - page_bytes) & ~(page_bytes - 1))
        if (fits(up)) return up;
    return std::nullopt;
}

// How far down guests must be moved for user_end to lie below this process's lowest mapping; a
// multiple of down_step.
std::uint64_t GuestMemory::distance_below_own() const {
    const auto lowest = std::min(own_.mappings().front().start.value, user_end);
    return (user_end - lowest + down_step - 1) & ~(down_step - 1);
}

bool GuestMemory::fits(std::uint64_t delta) const {
    return std::ranges::all_of(map_.mappings(), [&](const Mapping& m) { return fits(m, delta); });
}

// Whether there is room for a mapping and its growth at this distance.
bool GuestMemory::fits(const Mapping& m, std::uint64_t delta) const {
    if (m.end.value > user_end) return true;
    const auto start = m.start.value + delta, end = m.end.value + delta;
    if (start < mmap_minimum || start > end || end > user_end) return false;
    const auto below = m.name == "[stack]" ? stack_growth_bytes : page_bytes;
    const auto* ours = own_.find_at_or_after({start - std::min(start, below)});
    if (!ours) return true;
    const auto above = ours->name == "[stack]" ? stack_growth_bytes : page_bytes;
    return ours->start.value >= end + above;
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
    GuestAddress top{user_end};
    std::optional<GuestAddress> elsewhere;  // does not fit at the present delta
    for (auto m = all.rbegin(); m != all.rend(); ++m) {
        if (m->end.value > user_end) continue;
        const bool below_stack = top.value != user_end;
        if (below_stack && m->end < top && top - m->end >= wanted) {
            const auto start = top - size_bytes - page_bytes;
            if (fits({.start = start, .end = start + size_bytes}, delta_)) return start;
            if (!elsewhere) elsewhere = start;
        }
        top = m->name == "[stack]" ? m->start - stack_growth_bytes : m->start;
    }
    return elsewhere;
}

}  // namespace shadowprof
