#include "shadow/syscalls/input_calls.h"

#include <asm/unistd.h>
#include <sys/ioctl.h>

#include <algorithm>

namespace shadowprof {
namespace {

constexpr InputCallRow input_rows[] = {
    {.number = __NR_read, .compared = 0b111, .by_descriptor = true},
    {.number = __NR_poll, .compared = 0b11, .timeout = 2},
    {.number = __NR_ioctl, .compared = 0b111, .by_descriptor = true},
    {.number = __NR_readv, .compared = 0b111, .by_descriptor = true},
    {.number = __NR_select, .compared = 0b11111},
    {.number = __NR_accept, .compared = 0b111},
    {.number = __NR_recvfrom, .compared = 0b111111},
    {.number = __NR_recvmsg, .compared = 0b111},
    {.number = __NR_getsockname, .compared = 0b111},
    {.number = __NR_getpeername, .compared = 0b111},
    {.number = __NR_getsockopt, .compared = 0b11111},
    {.number = __NR_epoll_wait, .compared = 0b111, .timeout = 3},
    {.number = __NR_pselect6, .compared = 0b111111},
    {.number = __NR_ppoll, .compared = 0b1111},
    {.number = __NR_epoll_pwait, .compared = 0b10111, .timeout = 3},
    {.number = __NR_accept4, .compared = 0b1111},
    {.number = __NR_recvmmsg, .compared = 0b11111},
    {.number = __NR_preadv2, .compared = 0b111111, .by_descriptor = true},
    {.number = 441 /* epoll_pwait2 */, .compared = 0b11111},
};

// Of preadv2 and ioctl, only what reads a stream is input.
bool is_input(const InputCall& call) {
    constexpr auto current_offset = ~std::uint64_t{0};
    if (call.number == __NR_preadv2)
        return call.arguments[3] == current_offset && call.arguments[5] == 0;
    if (call.number == __NR_ioctl) return static_cast<std::uint32_t>(call.arguments[1]) == FIONREAD;
    return true;
}

int sign_of(std::uint64_t timeout) {
    const auto milliseconds = static_cast<std::int32_t>(timeout);
    return (milliseconds > 0) - (milliseconds < 0);
}

}  // namespace

const InputCallRow* find_input_call(const InputCall& call) {
    const auto* row =
        std::find_if(std::begin(input_rows), std::end(input_rows),
                     [&](const InputCallRow& each) { return each.number == call.number; });
    return row != std::end(input_rows) && is_input(call) ? row : nullptr;
}

bool is_same_call(const InputCall& recorded, const InputCall& asked) {
    const InputCallRow* row = find_input_call(recorded);
    if (!row || recorded.number != asked.number ||
        recorded.instruction_end != asked.instruction_end || recorded.stack != asked.stack)
        return false;
    for (std::size_t i = 0; i < recorded.arguments.size(); ++i) {
        const bool compared = (row->compared >> i & 1) != 0;
        if (compared && recorded.arguments[i] != asked.arguments[i]) return false;
    }
    if (row->timeout < 0) return true;
    const auto timeout = static_cast<std::size_t>(row->timeout);
    return sign_of(recorded.arguments[timeout]) == sign_of(asked.arguments[timeout]);
}

}  // namespace shadowprof
