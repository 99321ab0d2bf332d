// Structures of messages, as the kernel lays them out for x86-64 (include/linux/socket.h).
#pragma once

#include <cstdint>

namespace shadowprof {

struct IoVector {  // struct iovec
    std::uint64_t base = 0, size_bytes = 0;
};

// The parts of struct user_msghdr that the kernel reads. Between and behind them are padding, and
// flags that the kernel only writes.
struct MessageName {
    std::uint64_t address = 0;
    std::uint32_t size_bytes = 0;
    static constexpr std::uint64_t bytes = 12;
};
struct MessageBody {
    std::uint64_t vectors = 0, vector_count = 0, control = 0, control_bytes = 0;
};
inline constexpr std::uint64_t message_name_size_at = 8, message_body_at = 16,
                               message_control_size_at = 40, message_flags_at = 48,
                               message_received_at = 56;  // in struct mmsghdr
inline constexpr std::uint64_t message_bytes = 64;        // size of struct mmsghdr

struct ControlHeader {  // struct cmsghdr
    std::uint64_t size_bytes = 0;
    std::int32_t level = 0, type = 0;
};

}  // namespace shadowprof
