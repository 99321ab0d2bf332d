// Ranges of memory that the arguments of a system call name, and the limits that the kernel sets to
// them.
#pragma once

#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/guest_address.h"
#include "base/memory_range.h"
#include "base/memory_reader.h"
#include "syscalls/message_layout.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

inline constexpr std::uint64_t max_vectors = 1024;     // UIO_MAXIOV
inline constexpr std::uint64_t max_messages = 1024;    // UIO_MAXIOV for messages too
inline constexpr int max_descriptors = 1 << 20;        // descriptors in an fd_set
inline constexpr std::uint64_t socket_size_bytes = 4;  // socklen_t

// Common requests for terminals and files, with the number of bytes written and read. What other
// requests use depends on the device.
struct IoctlRow {
    std::uint32_t request;
    std::uint16_t bytes;
    std::uint16_t read_bytes = 0;
};
inline constexpr IoctlRow ioctls[] = {
    {TCGETS, 36},    {TIOCGWINSZ, sizeof(winsize)},
    {TIOCGPGRP, 4},  {FIONREAD, 4},
    {FIONBIO, 0, 4}, {FIOCLEX, 0},
    {FIONCLEX, 0},
};

// Returns null if the request may use memory anywhere.
inline const IoctlRow* find_ioctl(std::uint64_t request) {
    const auto* row = std::find_if(std::begin(ioctls), std::end(ioctls), [&](const IoctlRow& each) {
        return each.request == static_cast<std::uint32_t>(request);
    });
    return row == std::end(ioctls) ? nullptr : row;
}

// The size of an fd_set with `count` descriptors, as a call's argument says.
inline std::uint64_t set_bytes(std::uint64_t count) {
    const auto signed_count = static_cast<std::int32_t>(count);
    if (signed_count <= 0) return 0;
    return (static_cast<std::uint64_t>(std::min(signed_count, max_descriptors)) + 63) / 64 * 8;
}

// Collects the ranges of a call. A range that would wrap ends at the highest address.
class ArgumentRanges {
  public:
    void add(std::uint64_t start, std::uint64_t bytes) {
        if (bytes == 0 || start == 0) return;
        const auto room = std::numeric_limits<std::uint64_t>::max() - start;
        list_.push_back({{start}, {start + std::min(bytes, room)}});
    }
    // Adds `count` elements of `bytes` each.
    void add_array(std::uint64_t start, std::uint64_t count, std::uint64_t bytes) {
        const auto most =
            std::numeric_limits<std::uint64_t>::max() / std::max<std::uint64_t>(bytes, 1);
        add(start, std::min(count, most) * bytes);
    }
    // Adds the whole pages of a range.
    void add_pages(std::uint64_t start, std::uint64_t bytes) {
        if (bytes == 0) return;
        const auto first = GuestAddress{start}.page();
        const auto room = std::numeric_limits<std::uint64_t>::max() - start;
        const auto last = GuestAddress{start + std::min(bytes - 1, room)}.page();
        const auto end = std::max(last + page_bytes, last);
        list_.push_back({first, end});
    }
    std::vector<MemoryRange> take() { return std::move(list_); }

  private:
    std::vector<MemoryRange> list_;
};

// Adds what the kernel reads of a struct msghdr and its vectors when it receives a message.
inline void add_message_arguments(std::uint64_t at, MemoryReader& memory, ArgumentRanges& ranges) {
    ranges.add(at, MessageName::bytes);
    ranges.add(at + message_body_at, sizeof(MessageBody));
    if (const auto body = read_value<MessageBody>(memory, {at + message_body_at}))
        ranges.add(body->vectors, std::min(body->vector_count, max_vectors) * sizeof(IoVector));
}

// Whether mremap(2) moves memory to where an argument says.
inline bool moves_to_argument(const CallArguments& a) {
    return (a[3] & MREMAP_FIXED) != 0;
}

// The number of struct mmsghdr, as a call's argument says.
inline std::uint64_t message_count(std::uint64_t count) {
    return std::min(count & UINT32_MAX, max_messages);
}

}  // namespace shadowprof
