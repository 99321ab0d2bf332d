// Which function emulates which system call.
#pragma once

#include "guest_kernel/state/call.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {

// The handler of a call that syscall_facts() has. Null: the call ends the sample.
using SyscallHandlerFunction = SyscallOutcome (*)(SyscallCall&);
SyscallHandlerFunction find_syscall_handler(const SyscallFacts& facts);

}  // namespace shadowprof
