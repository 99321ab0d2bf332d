// The times that system calls wait at most.
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>

#include "emu/guest/guest_space.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// The longest time in ns; nothing if the call does not wait, or without limit, or for a moment.
// Must be asked before the call is made, as some calls overwrite the time.
std::optional<std::int64_t> longest_wait_ns(std::uint32_t number, const CallArguments& arguments,
                                            GuestSpace& space);

// Returns the result of such a call whose time is over.
std::uint64_t timed_out(std::uint32_t number);

// Returns the time in ns, or that of `most_seconds` if it is longer. Nothing if the kernel would
// refuse it (EINVAL).
std::optional<std::int64_t> ns_of(const timespec& time, std::int64_t most_seconds);

}  // namespace shadowprof
