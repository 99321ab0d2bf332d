// The frame from which rt_sigreturn(2) restores all registers of a thread.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <span>

#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

// The size of a frame without extended registers.
inline constexpr std::size_t sigreturn_context_bytes = 304;
// The offset of rdi in a frame.
inline constexpr std::size_t sigreturn_rdi_offset = 104;

// Writes the frame to `to`. `at` is the address of `to` in the target, which rt_sigreturn expects
// in the stack pointer. `extended` is the thread's NT_X86_XSTATE; if it is empty, the thread loses
// its extended registers. Returns the size of the frame in bytes. Error: unsupported: there is not
// enough room.
Result<std::size_t> write_sigreturn_frame(const user_regs_struct& registers,
                                          std::uint64_t signal_mask,
                                          std::span<const std::byte> extended,
                                          std::span<std::byte> to, GuestAddress at);

}  // namespace shadowprof
