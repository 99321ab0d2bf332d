// Finding `syscall` instructions in code that a process already maps.
#pragma once

#include <optional>

#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

// Looks in the vDSO, then in other executable mappings; in each first for one whose successor pops
// from the stack, so that a thread without a stack dies right behind it.
std::optional<GuestAddress> find_syscall_instruction(const MemoryMap& map, MemoryReader& memory);

// Code by which a thread goes on alone, led by its stack.
struct ReturnCode {
    GuestAddress call;       // `syscall`, and behind it RET
    GuestAddress sigreturn;  // calls rt_sigreturn(2) whatever its registers are
};

// The C library has both: looks there first, and in no more than the first 16 MiB of code.
std::optional<ReturnCode> find_return_code(const MemoryMap& map, MemoryReader& memory);

// It is there still.
bool is_return_code(MemoryReader& memory, const ReturnCode& code);

bool is_syscall_instruction(MemoryReader& memory, GuestAddress address);

}  // namespace shadowprof
