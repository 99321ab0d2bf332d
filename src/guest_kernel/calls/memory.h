// Shared parts of the calls that change the address space.
#pragma once

#include <cstdint>

#include "emu/guest/guest_space.h"
#include "guest_kernel/state/call.h"

namespace shadowprof {

inline constexpr std::uint64_t task_bytes = 0x7ffffffff000;  // TASK_SIZE of a 64-bit process
inline constexpr std::uint64_t min_mmap_address = 65536;     // vm.mmap_min_addr
inline constexpr std::uint64_t memory_copy_bytes = 64 * 1024;

// 0 for sizes that wrap around, which no address space has.
inline std::uint64_t round_up_to_page(std::uint64_t bytes) {
    return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

inline bool is_page_aligned(std::uint64_t value) {
    return value % page_bytes == 0;
}

// Whether a range ends at or below the end of the address space.
inline bool fits(std::uint64_t start, std::uint64_t size) {
    return size <= task_bytes && start <= task_bytes - size;
}

bool overlaps_mapping(const GuestSpace& space, std::uint64_t start, std::uint64_t size);
// How many bytes from the start of a range are mapped without a hole.
std::uint64_t mapped_prefix(const GuestSpace& space, std::uint64_t start, std::uint64_t size);

// Ends the sample: the kernel might have had room where the worker has none.
SyscallOutcome no_room_in_worker();

inline Protection protection_of(const Mapping& mapping) {
    return {mapping.readable, mapping.writable, mapping.executable};
}

// Maps memory and lets `fill` write to it before it gets its protection. The answer is its address.
template <typename Fill>
SyscallOutcome map_filled(GuestSpace& space, const Mapping& mapping, Fill fill) {
    Mapping open = mapping;
    open.readable = open.writable = true;
    if (!space.map(open)) return no_room_in_worker();
    SyscallOutcome filled = fill();
    if (filled.end) return filled;
    if (!space.protect(mapping.start, mapping.size_bytes(), protection_of(mapping)))
        return no_room_in_worker();
    return answer(mapping.start.value);
}

}  // namespace shadowprof
