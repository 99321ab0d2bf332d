// The unwind tables of a mapped ELF file, found in memory alone.
#pragma once

#include <cstdint>
#include <optional>

#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

// The binary search table of an .eh_frame_hdr section (Linux Standard Base Core 5.0, 10.6.2).
struct UnwindTable {
    GuestAddress header;   // that to which the entries are relative
    GuestAddress entries;  // pairs of 32-bit offsets: start of a function, its FDE
    std::uint64_t count = 0;
};

// The mapping in which the ELF header of the file or vDSO that `code` maps is to be found, or null.
const Mapping* find_elf_header(const MemoryMap& map, const Mapping& code);

// Reads the program headers behind the ELF header at the start of `header_mapping`. Nothing if it
// is no ELF header, or there is no table, or one in an unusual encoding. Hostile bytes are answered
// with nothing or with a table whose entries make no sense.
std::optional<UnwindTable> find_unwind_table(const Mapping& header_mapping, MemoryReader& memory);

}  // namespace shadowprof
