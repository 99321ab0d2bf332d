// The pseudo-module of time in the kernel. Its locations are system calls: the address is the
// number of the call.
#pragma once

#include <cstdint>
#include <string_view>

namespace shadowprof {

inline constexpr std::string_view kernel_module = "[kernel]";
// The call of a thread that was at work in the kernel, and did not stop to tell in which call.
inline constexpr std::uint64_t unknown_call = 0xffff'ffff;

}  // namespace shadowprof
