// The functions with which programs allocate memory, and which of their arguments say how much.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/cpu_state.h"
#include "base/guest_address.h"

namespace shadowprof {

// The arguments whose value, or product, is the number of bytes.
enum class AllocatedSize : std::uint8_t { first, second, third, first_by_second, second_by_third };

// The names of functions as reports show them: those of the C library (malloc(3),
// posix_memalign(3)), and the replaceable allocation functions of C++ ([new.delete]).
struct AllocatorNames {
    AllocatedSize size;
    std::span<const std::string_view> names;
};

namespace allocator_names {

inline constexpr std::array<std::string_view, 11> first{
    "malloc",
    "valloc",
    "pvalloc",
    "operator new(unsigned long)",
    "operator new[](unsigned long)",
    "operator new(unsigned long, std::nothrow_t const&)",
    "operator new[](unsigned long, std::nothrow_t const&)",
    "operator new(unsigned long, std::align_val_t)",
    "operator new[](unsigned long, std::align_val_t)",
    "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
    "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)"};
inline constexpr std::array<std::string_view, 3> second{"realloc", "aligned_alloc", "memalign"};
inline constexpr std::array<std::string_view, 1> third{"posix_memalign"};
inline constexpr std::array<std::string_view, 1> first_by_second{"calloc"};
inline constexpr std::array<std::string_view, 1> second_by_third{"reallocarray"};

}  // namespace allocator_names

inline constexpr std::array allocator_table{
    AllocatorNames{AllocatedSize::first, allocator_names::first},
    AllocatorNames{AllocatedSize::second, allocator_names::second},
    AllocatorNames{AllocatedSize::third, allocator_names::third},
    AllocatorNames{AllocatedSize::first_by_second, allocator_names::first_by_second},
    AllocatorNames{AllocatedSize::second_by_third, allocator_names::second_by_third}};

// Such a function in a program.
struct AllocatorEntry {
    GuestAddress entry;
    AllocatedSize size = AllocatedSize::first;
};

// How many bytes a call asks for whose arguments are in `cpu`, as the ABI of x86-64 passes them.
// 0 for sizes beyond PTRDIFF_MAX, with which every call fails.
inline std::uint64_t allocated_bytes(AllocatedSize size, const CpuState& cpu) {
    const std::uint64_t first = cpu[Gpr::rdi], second = cpu[Gpr::rsi], third = cpu[Gpr::rdx];
    std::uint64_t bytes = 0;
    bool fits = true;
    switch (size) {
        case AllocatedSize::first:
            bytes = first;
            break;
        case AllocatedSize::second:
            bytes = second;
            break;
        case AllocatedSize::third:
            bytes = third;
            break;
        case AllocatedSize::first_by_second:
            fits = !__builtin_mul_overflow(first, second, &bytes);
            break;
        case AllocatedSize::second_by_third:
            fits = !__builtin_mul_overflow(second, third, &bytes);
            break;
    }
    return fits && bytes <= std::numeric_limits<std::int64_t>::max() ? bytes : 0;
}

}  // namespace shadowprof
