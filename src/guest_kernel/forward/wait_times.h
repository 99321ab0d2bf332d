// How long system calls wait that have a time-out relative to their begin.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/guest/guest_space.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// The longest time in ns; nothing if the call does not wait, or without limit, or for a moment.
// Must be asked before the call is made, as some calls overwrite the time.
std::optional<std::int64_t> longest_wait_ns(std::uint32_t number, const CallArguments& arguments,
                                            GuestSpace& space);

// What such a call returns when its time is over.
std::uint64_t timed_out(std::uint32_t number);

}  // namespace shadowprof
