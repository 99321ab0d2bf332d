// Messages neither leave nor enter a sample.
#include <sys/socket.h>
#include <sys/stat.h>

#include "guest_kernel/calls/recorded.h"
#include "guest_kernel/calls/transfer.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::uint32_t max_messages = 1024;  // UIO_MAXIOV, as for sendmmsg(2)

// struct user_msghdr and struct mmsghdr of x86-64.
struct MessageHeader {
    std::uint64_t name;
    std::int32_t name_bytes;
    std::uint32_t unused;
    std::uint64_t vectors, vector_count, control, control_bytes;
    std::uint32_t flags, unused2;
};
struct MultiMessageHeader {
    MessageHeader header;
    std::uint32_t sent_bytes, unused;
};
static_assert(sizeof(MultiMessageHeader) == 64);

Emulated<OpenFile*> find_socket(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    if (!S_ISSOCK(descriptor->file->node->status.mode)) return failure(ENOTSOCK);
    return descriptor->file.get();
}

SyscallOutcome swallow_message(SyscallCall& call, const MessageHeader& message) {
    TRY_ASSIGN(auto ranges, load_ranges(call, {message.vectors}, message.vector_count));
    return take_from_guest(call, ranges, [](std::span<const std::byte>) {});
}

}  // namespace

SyscallOutcome sys_send(SyscallCall& call) {
    TRY(find_socket(call));
    return take_from_guest(call, one_range(call.address(1), call.arg(2)),
                           [](std::span<const std::byte>) {});
}

SyscallOutcome sys_sendmsg(SyscallCall& call) {
    TRY(find_socket(call));
    TRY_ASSIGN(auto message, load<MessageHeader>(call, call.address(1)));
    return swallow_message(call, message);
}

SyscallOutcome sys_sendmmsg(SyscallCall& call) {
    TRY(find_socket(call));
    std::uint32_t count = std::min(call.uint_arg(2), max_messages);
    std::uint32_t sent = 0;
    for (; sent < count; ++sent) {
        GuestAddress at = call.address(1) + sent * sizeof(MultiMessageHeader);
        auto message = read_value<MultiMessageHeader>(call.space, at);
        SyscallOutcome outcome = message ? swallow_message(call, message->header) : failure(EFAULT);
        if (outcome.value >= 0 && message) {
            message->sent_bytes = static_cast<std::uint32_t>(outcome.value);
            if (!guest_store(call.space, at, *message)) outcome = failure(EFAULT);
        }
        if (outcome.value < 0) return sent == 0 ? outcome : answer(sent);
    }
    return answer(sent);
}

SyscallOutcome sys_receive(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_input(call);
    TRY(find_socket(call));
    return ends(SampleEnd::input, "reads a socket");
}

SyscallOutcome sys_accept(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_wait(call);
    TRY(find_socket(call));
    return ends(SampleEnd::input, "accepts a connection");
}

SyscallOutcome sys_socket_state(SyscallCall& call) {
    if (call.sample.rules.has_recorded_input) return recorded_input(call);
    TRY(find_socket(call));
    return ends(SampleEnd::input, "asks for the state of a socket");
}

SyscallOutcome sys_socket_output(SyscallCall& call) {
    TRY(find_socket(call));
    return answer(0);
}

}  // namespace shadowprof
