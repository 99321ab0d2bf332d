// Encoding numbers of the general-purpose registers (Intel SDM vol. 2, 2.1.5 and 2.2.1.2).
#pragma once

#include <cstdint>

namespace shadowprof::gpr {

inline constexpr std::uint8_t rax = 0, rcx = 1, rdx = 2, rbx = 3, rsp = 4, rbp = 5, rsi = 6,
                              rdi = 7;

}  // namespace shadowprof::gpr
