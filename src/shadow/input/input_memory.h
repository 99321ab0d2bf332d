// The memory that an input call reads, and that it writes, for a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_reader.h"
#include "guest_kernel/input/recorded_input.h"

namespace shadowprof {

// The memory that the call's arguments point to and that it reads; to be taken at its entry.
// Nothing if that cannot be read, or is more than calls read.
std::optional<std::vector<MemoryBytes>> argument_memory(const InputCall& call,
                                                        MemoryReader& memory);

// What the call, which returned `value`, has written, given its argument_memory(); to be taken at
// its exit. Nothing if that cannot be read, or is more than `most_bytes`.
std::optional<std::vector<MemoryBytes>> written_memory(const InputCall& call, std::int64_t value,
                                                       const std::vector<MemoryBytes>& arguments,
                                                       MemoryReader& memory,
                                                       std::size_t most_bytes);

// The descriptors that the call made: by its value, or within messages.
std::vector<std::int32_t> made_descriptors(const InputCall& call, std::int64_t value,
                                           const std::vector<MemoryBytes>& arguments,
                                           const std::vector<MemoryBytes>& written);

}  // namespace shadowprof
