// The frame from which rt_sigreturn(2) gives a thread all of its registers back.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>

#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

// The size of a frame without extended registers.
inline constexpr std::size_t sigreturn_context_bytes = 304;
// Where in a frame the word for rdi is.
inline constexpr std::size_t sigreturn_rdi_offset = 104;

// Writes the frame to `to`, which the target has at `at`: the stack pointer that rt_sigreturn
// wants. `extended` is the thread's NT_X86_XSTATE; where it is empty, the thread loses its extended
// registers. Returns how many bytes the frame takes. Error: unsupported: there is not enough room.
Result<std::size_t> write_sigreturn_frame(const user_regs_struct& registers,
                                          std::uint64_t signal_mask,
                                          std::span<const std::byte> extended,
                                          std::span<std::byte> to, GuestAddress at);

}  // namespace shadowprof
