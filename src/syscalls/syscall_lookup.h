// The table of system calls, by number.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "syscalls/syscall_facts.h"

namespace shadowprof {

// All rows, sorted by number.
std::span<const SyscallFacts> syscall_facts();

// Returns null if the number is no system call. The kernel answers ENOSYS to such numbers.
const SyscallFacts* find_syscall_facts(std::uint64_t number);

// "read", or "syscall_1234" for a number that is no system call.
std::string syscall_name(std::uint64_t number);

}  // namespace shadowprof
