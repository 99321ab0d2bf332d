#include "emu/worker/worker_protocol.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::size_t max_packet_bytes = OutsideChannel::max_bytes + 16 * 1024;
constexpr auto last_kind = MessageKind::rehearsed;

union DescriptorControl {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

Error nothing_came() {
    return {ErrorCode::interrupted, 0, "the emulator's process did not answer in time"};
}

}  // namespace

Result<void> WorkerSocket::send(MessageKind kind, std::span<const std::byte> body,
                                std::span<const std::byte> payload, int fd) {
    std::array<iovec, 3> parts = {{{&kind, sizeof kind},
                                   {const_cast<std::byte*>(body.data()), body.size()},
                                   {const_cast<std::byte*>(payload.data()), payload.size()}}};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    DescriptorControl control = {};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        auto* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    while (sendmsg(fd_.get(), &message, MSG_NOSIGNAL) < 0) {
        if (errno == EINTR) continue;
        auto error = errno_error("talk to the emulator's process");
        if (error.sys_errno == EPIPE || error.sys_errno == ECONNRESET) error.code = ErrorCode::gone;
        return error;
    }
    return {};
}

Result<WorkerSocket::Message> WorkerSocket::receive_until(
    std::chrono::steady_clock::time_point until) {
    using std::chrono::nanoseconds;
    const auto left =
        std::max(nanoseconds(until - std::chrono::steady_clock::now()), nanoseconds::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec wait = {seconds.count(), (left - seconds).count()};
    pollfd waiting = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (ppoll(&waiting, 1, &wait, nullptr) == 0) return nothing_came();
    return receive(0);
}

Result<WorkerSocket::Message> WorkerSocket::receive(int timeout_ms) {
    if (timeout_ms > 0) {
        pollfd waiting = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, timeout_ms);
        if (ready == 0) return nothing_came();
    }
    packet_.resize(max_packet_bytes);
    Message result{};
    std::array<iovec, 2> parts = {
        {{&result.kind, sizeof result.kind}, {packet_.data(), packet_.size()}}};
    DescriptorControl control = {};
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    ssize_t size = 0;
    // A confined worker may not call poll().
    const int flags = MSG_CMSG_CLOEXEC | (timeout_ms == 0 ? MSG_DONTWAIT : 0);
    while ((size = recvmsg(fd_.get(), &message, flags)) < 0) {
        if (errno == EAGAIN) return nothing_came();
        if (errno == EINTR) continue;
        // The other end closed with messages unread.
        if (errno == ECONNRESET) break;
        return errno_error("talk to the emulator's process");
    }
    if (size <= 0) return Error{ErrorCode::gone, 0, "the emulator's process has ended"};
    for (auto* h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(h), sizeof fd);
        result.fd.reset(fd);
    }
    const auto bytes = static_cast<std::size_t>(size);
    if (bytes < sizeof result.kind || result.kind > last_kind ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return Error{ErrorCode::invalid, 0, "the emulator's process sent an unexpected message"};
    const auto end = packet_.begin() + static_cast<std::ptrdiff_t>(bytes - sizeof result.kind);
    result.bytes.assign(packet_.begin(), end);
    return result;
}

}  // namespace shadowprof
