// The frame from which rt_sigreturn(2) gives a thread all of its registers back.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>

#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

// Writes the frame to `to`, which the target has at `at`. `extended` is the thread's NT_X86_XSTATE.
// Returns the stack pointer that rt_sigreturn wants. Error: unsupported: there is not enough room.
Result<GuestAddress> write_sigreturn_frame(const user_regs_struct& registers,
                                           std::uint64_t signal_mask,
                                           std::span<const std::byte> extended,
                                           std::span<std::byte> to, GuestAddress at);

}  // namespace shadowprof
