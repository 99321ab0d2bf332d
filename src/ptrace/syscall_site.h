// Finding a `syscall` instruction in code that a process already maps.
#pragma once

#include <optional>

#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

// Looks in the vDSO, then in other executable mappings; in each first for one whose successor pops
// from the stack, so that a thread without a stack dies right behind it.
std::optional<GuestAddress> find_syscall_instruction(const MemoryMap& map, MemoryReader& memory);

bool is_syscall_instruction(MemoryReader& memory, GuestAddress address);

}  // namespace shadowprof
