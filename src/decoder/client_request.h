// Requests of a program to the simulator that executes it: a sequence of instructions that changes
// nothing natively ("The client request mechanism", Valgrind manual, section 3.1; for amd64:
// rol $3,%rdi; rol $13,%rdi; rol $61,%rdi; rol $51,%rdi; xchg %rbx,%rbx). RAX points to six words:
// the request and its arguments. RDX has the answer: before, it is what the program gets natively.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shadowprof {

inline constexpr std::array<std::uint8_t, 19> client_request_code = {
    0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
    0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb};
// The last instruction. The request is made when it is executed.
inline constexpr std::size_t client_request_last_bytes = 3;
// The instructions before it.
inline constexpr std::size_t client_request_preamble_bytes =
    client_request_code.size() - client_request_last_bytes;

constexpr std::span<const std::uint8_t> client_request_last() {
    return std::span(client_request_code).last(client_request_last_bytes);
}

// Whether `code` is the whole sequence.
constexpr bool is_client_request(std::span<const std::byte> code) {
    return std::ranges::equal(code, client_request_code, {},
                              [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
}

}  // namespace shadowprof
