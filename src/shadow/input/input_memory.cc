#include "shadow/input/input_memory.h"

#include <asm/unistd.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::size_t most_told_bytes = 256 * 1024;
constexpr std::uint64_t most_vectors = 1024;   // UIO_MAXIOV
constexpr std::uint64_t most_messages = 1024;  // of recvmmsg: UIO_MAXIOV
constexpr std::uint64_t message_bytes = 64;    // struct mmsghdr
constexpr int pidfd_message = 4;               // SCM_PIDFD
constexpr std::uint64_t epoll_event_bytes = 12;

struct Range {
    std::uint64_t start = 0, size_bytes = 0;
};
using Ranges = std::vector<Range>;

struct Vector {  // struct iovec
    std::uint64_t base = 0, size_bytes = 0;
};

// struct user_msghdr is told by these two parts. What lies between and behind them is padding, and
// flags that only come out.
struct MessageName {
    std::uint64_t address = 0;
    std::uint32_t size_bytes = 0;
    static constexpr std::uint64_t bytes = 12;
};
struct MessageBody {
    std::uint64_t vectors = 0, vector_count = 0, control = 0, control_bytes = 0;
};
constexpr std::uint64_t name_size_at = 8, body_at = 16, control_size_at = 40, flags_at = 48,
                        received_at = 56;

struct ControlHeader {  // struct cmsghdr
    std::uint64_t size_bytes = 0;
    std::int32_t level = 0, type = 0;
};

// Memory of which only these parts are known.
class KnownMemory final : public MemoryReader {
  public:
    explicit KnownMemory(const std::vector<MemoryBytes>& parts) : parts_(parts) {}
    bool read(GuestAddress from, std::span<std::byte> to) override {
        for (const MemoryBytes& part : parts_) {
            const std::uint64_t offset = from.value - part.address.value;
            if (offset > part.bytes.size() || to.size() > part.bytes.size() - offset) continue;
            std::copy_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(offset), to.size(),
                        to.begin());
            return true;
        }
        return false;
    }

  private:
    const std::vector<MemoryBytes>& parts_;
};

std::optional<std::vector<MemoryBytes>> read_all(const Ranges& ranges, MemoryReader& memory,
                                                 std::size_t most_bytes) {
    std::vector<MemoryBytes> parts;
    for (const Range& range : ranges) {
        if (range.size_bytes == 0) continue;
        if (range.size_bytes > most_bytes) return std::nullopt;
        most_bytes -= range.size_bytes;
        MemoryBytes part{{range.start}, std::vector<std::byte>(range.size_bytes)};
        if (!memory.read(part.address, part.bytes)) return std::nullopt;
        parts.push_back(std::move(part));
    }
    return parts;
}

std::uint64_t set_bytes(std::uint64_t count) {
    constexpr std::uint64_t most_descriptors = 1 << 20;
    const auto signed_count = static_cast<std::int32_t>(count);
    if (signed_count <= 0) return 0;
    return (std::min<std::uint64_t>(count & UINT32_MAX, most_descriptors) + 63) / 64 * 8;
}

std::uint64_t poll_bytes(std::uint64_t count) {
    return (count & UINT32_MAX) * sizeof(pollfd);
}

// Of a socket's address, which is written as far as it fits; the word at `size_at` says how much
// that is, and was told.
void add_address(std::uint64_t address, std::uint64_t size_at, MemoryReader& told,
                 MemoryReader& memory, Ranges& written) {
    const auto room = read_value<std::uint32_t>(told, {size_at});
    const auto size = read_value<std::uint32_t>(memory, {size_at});
    if (!room || !size) return;
    written.push_back({size_at, sizeof *size});
    written.push_back({address, std::min(*room, *size)});
}

// Told.

void add_message(std::uint64_t at, MemoryReader& memory, Ranges& told) {
    told.push_back({at, MessageName::bytes});
    told.push_back({at + body_at, sizeof(MessageBody)});
    const auto body = read_value<MessageBody>(memory, {at + body_at});
    if (body)
        told.push_back(
            {body->vectors, std::min(body->vector_count, most_vectors) * sizeof(Vector)});
}

std::uint64_t message_count(const InputCall& call) {
    return std::min(call.arguments[2] & UINT32_MAX, most_messages);
}

Ranges told_ranges(const InputCall& call, MemoryReader& memory) {
    const auto& a = call.arguments;
    constexpr std::uint64_t size_bytes = 4;  // socklen_t
    Ranges told;
    switch (call.number) {
        case __NR_readv:
        case __NR_preadv2:
            return {{a[1], std::min(a[2], most_vectors) * sizeof(Vector)}};
        case __NR_recvfrom:
            if (a[4] != 0) told.push_back({a[5], size_bytes});
            return told;
        case __NR_accept:
        case __NR_accept4:
            if (a[1] != 0) told.push_back({a[2], size_bytes});
            return told;
        case __NR_getsockname:
        case __NR_getpeername:
            return {{a[2], size_bytes}};
        case __NR_getsockopt:
            return {{a[4], size_bytes}};
        case __NR_recvmsg:
            add_message(a[1], memory, told);
            return told;
        case __NR_recvmmsg:
            for (std::uint64_t i = 0; i < message_count(call); ++i)
                add_message(a[1] + i * message_bytes, memory, told);
            return told;
        case __NR_poll:
        case __NR_ppoll:
            return {{a[0], poll_bytes(a[1])}};
        case __NR_select:
        case __NR_pselect6:
            for (std::size_t set = 1; set <= 3; ++set)
                if (a[set] != 0) told.push_back({a[set], set_bytes(a[0])});
            return told;
        default:
            return {};
    }
}

// Written.

// The first `bytes` of what an array of vectors says.
void add_vectors(std::uint64_t at, std::uint64_t count, std::uint64_t bytes, MemoryReader& told,
                 Ranges& written) {
    for (std::uint64_t i = 0; i < std::min(count, most_vectors) && bytes > 0; ++i) {
        const auto vector = read_value<Vector>(told, {at + i * sizeof(Vector)});
        if (!vector) return;
        const std::uint64_t size = std::min(vector->size_bytes, bytes);
        written.push_back({vector->base, size});
        bytes -= size;
    }
}

void add_received(std::uint64_t at, std::uint64_t bytes, MemoryReader& told, MemoryReader& memory,
                  Ranges& written) {
    const auto name = read_value<std::uint64_t>(told, {at});
    const auto body = read_value<MessageBody>(told, {at + body_at});
    const auto control_bytes = read_value<std::uint64_t>(memory, {at + control_size_at});
    if (!name || !body || !control_bytes) return;
    add_vectors(body->vectors, body->vector_count, bytes, told, written);
    if (*name != 0) add_address(*name, at + name_size_at, told, memory, written);
    written.push_back({at + control_size_at, sizeof *control_bytes});
    written.push_back({body->control, std::min(*control_bytes, body->control_bytes)});
    written.push_back({at + flags_at, 4});
}

void add_many_received(const InputCall& call, std::uint64_t messages, MemoryReader& told,
                       MemoryReader& memory, Ranges& written) {
    for (std::uint64_t i = 0; i < std::min(messages, message_count(call)); ++i) {
        const std::uint64_t at = call.arguments[1] + i * message_bytes;
        const auto received = read_value<std::uint32_t>(memory, {at + received_at});
        if (!received) return;
        add_received(at, *received, told, memory, written);
        written.push_back({at + received_at, sizeof *received});
    }
    if (call.arguments[4] != 0) written.push_back({call.arguments[4], 16});
}

Ranges written_ranges(const InputCall& call, std::uint64_t value, MemoryReader& told,
                      MemoryReader& memory) {
    const auto& a = call.arguments;
    Ranges written;
    switch (call.number) {
        case __NR_read:
            return {{a[1], value}};
        case __NR_ioctl:
            return {{a[2], 4}};
        case __NR_readv:
        case __NR_preadv2:
            add_vectors(a[1], a[2], value, told, written);
            return written;
        case __NR_recvfrom:
            written.push_back({a[1], std::min(value, a[2])});
            if (a[4] != 0) add_address(a[4], a[5], told, memory, written);
            return written;
        case __NR_accept:
        case __NR_accept4:
            if (a[1] != 0) add_address(a[1], a[2], told, memory, written);
            return written;
        case __NR_getsockname:
        case __NR_getpeername:
            add_address(a[1], a[2], told, memory, written);
            return written;
        case __NR_getsockopt:
            add_address(a[3], a[4], told, memory, written);
            return written;
        case __NR_recvmsg:
            add_received(a[1], value, told, memory, written);
            return written;
        case __NR_recvmmsg:
            add_many_received(call, value, told, memory, written);
            return written;
        case __NR_poll:
            return {{a[0], poll_bytes(a[1])}};
        case __NR_ppoll:
            written.push_back({a[0], poll_bytes(a[1])});
            if (a[2] != 0) written.push_back({a[2], 16});
            return written;
        case __NR_select:
        case __NR_pselect6:
            for (std::size_t set = 1; set <= 3; ++set)
                if (a[set] != 0) written.push_back({a[set], set_bytes(a[0])});
            if (a[4] != 0) written.push_back({a[4], 16});
            return written;
        case __NR_epoll_wait:
        case __NR_epoll_pwait:
        case 441:  // epoll_pwait2
            return {{a[1], value * epoll_event_bytes}};
        default:
            return {};
    }
}

// Descriptors.

void add_rights(std::uint64_t message, MemoryReader& told, MemoryReader& written,
                std::vector<std::int32_t>& descriptors) {
    const auto body = read_value<MessageBody>(told, {message + body_at});
    const auto size = read_value<std::uint64_t>(written, {message + control_size_at});
    if (!body || !size) return;
    for (std::uint64_t at = 0; at < std::min(*size, body->control_bytes);) {
        const auto header = read_value<ControlHeader>(written, {body->control + at});
        if (!header || header->size_bytes < sizeof *header) return;
        const bool has_descriptors = header->level == SOL_SOCKET &&
                                     (header->type == SCM_RIGHTS || header->type == pidfd_message);
        for (std::uint64_t i = sizeof *header; has_descriptors && i + 4 <= header->size_bytes;
             i += 4) {
            const auto fd = read_value<std::int32_t>(written, {body->control + at + i});
            if (!fd) return;
            descriptors.push_back(*fd);
        }
        if (header->size_bytes > *size) return;
        at += (header->size_bytes + 7) & ~std::uint64_t{7};
    }
}

}  // namespace

std::optional<std::vector<MemoryBytes>> told_memory(const InputCall& call, MemoryReader& memory) {
    return read_all(told_ranges(call, memory), memory, most_told_bytes);
}

std::optional<std::vector<MemoryBytes>> written_memory(const InputCall& call, std::int64_t value,
                                                       const std::vector<MemoryBytes>& told,
                                                       MemoryReader& memory,
                                                       std::size_t most_bytes) {
    if (value < 0) return std::vector<MemoryBytes>{};
    KnownMemory known(told);
    const auto ranges = written_ranges(call, static_cast<std::uint64_t>(value), known, memory);
    return read_all(ranges, memory, most_bytes);
}

std::vector<std::int32_t> made_descriptors(const InputCall& call, std::int64_t value,
                                           const std::vector<MemoryBytes>& told,
                                           const std::vector<MemoryBytes>& written) {
    if (value < 0) return {};
    KnownMemory known(told), got(written);
    std::vector<std::int32_t> descriptors;
    if (call.number == __NR_accept || call.number == __NR_accept4)
        descriptors.push_back(static_cast<std::int32_t>(value));
    if (call.number == __NR_recvmsg) add_rights(call.arguments[1], known, got, descriptors);
    if (call.number == __NR_recvmmsg)
        for (std::uint64_t i = 0; i < std::min(static_cast<std::uint64_t>(value), most_messages);
             ++i)
            add_rights(call.arguments[1] + i * message_bytes, known, got, descriptors);
    return descriptors;
}

}  // namespace shadowprof
