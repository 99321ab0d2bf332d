// Finds `syscall` instructions in code that a process already maps.
#pragma once

#include <optional>

#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

// Looks in the vDSO, then in other executable mappings. In each it prefers a `syscall` whose next
// instruction pops from the stack, so that a thread without a stack dies right there.
std::optional<GuestAddress> find_syscall_instruction(const MemoryMap& map, MemoryReader& memory);

// Code with which a thread can continue alone, controlled by its stack.
struct ReturnCode {
    GuestAddress call;       // `syscall` followed by RET
    GuestAddress sigreturn;  // calls rt_sigreturn(2), whatever the registers are
};

// Looks in the C library first, which has both, and searches at most 16 MiB of code.
std::optional<ReturnCode> find_return_code(const MemoryMap& map, MemoryReader& memory);

// Whether the code is still there.
bool is_return_code(MemoryReader& memory, const ReturnCode& code);

bool is_syscall_instruction(MemoryReader& memory, GuestAddress address);

}  // namespace shadowprof
