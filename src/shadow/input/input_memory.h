// The memory that an input call reads and writes, for a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_reader.h"
#include "guest_kernel/input/recorded_input.h"

namespace shadowprof {

// Returns the memory that the call reads through its arguments. To be called at its entry. Nothing
// if the memory cannot be read, or is more than calls read.
std::optional<std::vector<MemoryBytes>> argument_memory(const InputCall& call,
                                                        MemoryReader& memory);

// Returns what the call, which returned `value`, has written. `arguments` is its argument_memory().
// To be called at its exit. Nothing if the memory cannot be read, or is more than `max_bytes`.
std::optional<std::vector<MemoryBytes>> written_memory(const InputCall& call, std::int64_t value,
                                                       const std::vector<MemoryBytes>& arguments,
                                                       MemoryReader& memory, std::size_t max_bytes);

// The descriptors that the call made, as its value or within messages.
std::vector<std::int32_t> made_descriptors(const InputCall& call, std::int64_t value,
                                           const std::vector<MemoryBytes>& arguments,
                                           const std::vector<MemoryBytes>& written);

}  // namespace shadowprof
