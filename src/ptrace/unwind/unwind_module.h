// Finds the unwind tables of a mapped ELF file, in memory where they are there.
#pragma once

#include <cstdint>
#include <optional>

#include "base/memory_map.h"
#include "base/memory_reader.h"
#include "ptrace/unwind/frame_section.h"

namespace shadowprof {

// The binary search table of an .eh_frame_hdr section (Linux Standard Base Core 5.0, 10.6.2).
struct UnwindTable {
    GuestAddress header;   // base of the offsets in the entries
    GuestAddress entries;  // pairs of 32-bit offsets: a function's start and its FDE
    std::uint64_t count = 0;
    // If the file has no table: one that was made of its .eh_frame section, at `made_entries`.
    std::vector<FrameEntry> made = {};
};

// Where entries are that are in no memory: an address that no process can map.
inline constexpr GuestAddress made_entries{std::uint64_t{1} << 63};

// Returns the mapping that holds the ELF header of the file or vDSO that `code` maps, or null.
const Mapping* find_elf_header(const MemoryMap& map, const Mapping& code);

// Reads the program headers behind the ELF header at the start of `header_mapping`. If they name no
// table, makes one of the file. Returns nothing if this is no ELF header, or if there is neither,
// or a table in an unusual encoding. Hostile bytes give nothing, or a table whose entries make no
// sense.
std::optional<UnwindTable> find_unwind_table(const Mapping& header_mapping, MemoryReader& memory);

}  // namespace shadowprof
