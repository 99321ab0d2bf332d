// The memory that an input call is told by and that it writes to, as the kernel's structures for
// x86-64 lay it out (include/uapi). Nothing here trusts the program's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_reader.h"
#include "shadow/syscalls/recorded_input.h"

namespace shadowprof {

// What the call is told by address; to be taken at its entry. Nothing if that cannot be read, or is
// more than calls are told.
std::optional<std::vector<MemoryBytes>> told_memory(const InputCall& call, MemoryReader& memory);

// What the call, which returned `value`, has written, given what it was told; to be taken at its
// exit. Nothing if that cannot be read, or is more than `most_bytes`.
std::optional<std::vector<MemoryBytes>> written_memory(const InputCall& call, std::int64_t value,
                                                       const std::vector<MemoryBytes>& told,
                                                       MemoryReader& memory,
                                                       std::size_t most_bytes);

// The descriptors that the call made: by its value, or within messages.
std::vector<std::int32_t> made_descriptors(const InputCall& call, std::int64_t value,
                                           const std::vector<MemoryBytes>& told,
                                           const std::vector<MemoryBytes>& written);

}  // namespace shadowprof
