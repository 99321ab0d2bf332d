// The unwind information of files whose linker made no table for a binary search, as of programs
// that are linked statically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/guest_address.h"
#include "base/memory_map.h"

namespace shadowprof {

// A pointer encoding: a signed offset of 32 bits from its own place (Linux Standard Base Core 5.0,
// 10.5.1).
inline constexpr std::uint8_t pcrel_sdata4 = 0x1b;

// An entry of the table that .eh_frame_hdr would have: offsets from a common base.
struct FrameEntry {
    std::int32_t start = 0;  // of a function
    std::int32_t frame = 0;  // of its FDE
};

// Returns the entries of an .eh_frame section at `address`, by ascending start. Records that are
// damaged, or in an encoding that no compiler for x86-64 uses, give none. Hostile bytes give
// entries that make no sense.
std::vector<FrameEntry> frame_entries(std::span<const std::byte> section, GuestAddress address,
                                      GuestAddress base);

struct FrameSection {
    std::uint64_t address = 0;  // in the file's own addresses
    std::vector<std::byte> bytes;
};

// Reads .eh_frame from the file that is mapped. Nothing if its name does not lead us to it, or if
// it has no such section.
std::optional<FrameSection> read_frame_section(const Mapping& mapping);

}  // namespace shadowprof
