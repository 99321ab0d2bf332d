// Finds function boundaries in unwind tables, which even stripped programs have.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shadowprof {

struct AddressRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte

    friend auto operator<=>(const AddressRange&, const AddressRange&) = default;
};

// Returns the code ranges of the frame description entries in `.eh_frame`, which is loaded at
// `address`, in the order of the section (Linux Standard Base Core, "Exception Frames"). Empty
// ranges are left out. Reading stops at the first malformed record.
std::vector<AddressRange> eh_frame_ranges(std::span<const std::byte> section,
                                          std::uint64_t address);

}  // namespace shadowprof
