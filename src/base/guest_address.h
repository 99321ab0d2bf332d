// An address in the target's address space: never a pointer, never a bare integer.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace shadowprof {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t line_bytes = 64;  // size of a cache line

struct GuestAddress {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(GuestAddress, GuestAddress) = default;
    friend constexpr GuestAddress operator+(GuestAddress a, std::uint64_t bytes) {
        return {a.value + bytes};
    }
    friend constexpr GuestAddress operator-(GuestAddress a, std::uint64_t bytes) {
        return {a.value - bytes};
    }
    friend constexpr std::uint64_t operator-(GuestAddress a, GuestAddress b) {
        return a.value - b.value;
    }
    constexpr GuestAddress page() const { return {value & ~(page_bytes - 1)}; }
};

// Whether WRFSBASE accepts the address. Assumes 4-level paging.
constexpr bool is_canonical(std::uint64_t address) {
    return static_cast<std::int64_t>(address << 16) >> 16 == static_cast<std::int64_t>(address);
}

}  // namespace shadowprof

template <>
struct std::hash<shadowprof::GuestAddress> {
    std::size_t operator()(shadowprof::GuestAddress a) const noexcept {
        return std::hash<std::uint64_t>{}(a.value);
    }
};
