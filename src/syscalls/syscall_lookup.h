// The table of system calls, by number.
#pragma once

#include <cstdint>
#include <span>

#include "syscalls/syscall_facts.h"

namespace shadowprof {

// All, sorted by number.
std::span<const SyscallFacts> syscall_facts();

// Null for a number that is no system call; the kernel answers ENOSYS to those.
const SyscallFacts* find_syscall_facts(std::uint64_t number);

}  // namespace shadowprof
