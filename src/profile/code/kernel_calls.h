// The pseudo-module of time in the kernel. Its locations are system calls: the address is the
// number of the call. Others are why a thread was in the kernel without a call.
#pragma once

#include <cstdint>
#include <string_view>

namespace shadowprof {

inline constexpr std::string_view kernel_module = "[kernel]";
// The call of a thread that was at work in the kernel, and did not stop to tell in which call.
inline constexpr std::uint64_t unknown_call = 0xffff'ffff;
inline constexpr std::uint64_t page_fault_entry = 0xffff'fffe, interrupt_entry = 0xffff'fffd;

}  // namespace shadowprof
