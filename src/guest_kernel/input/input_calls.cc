#include "guest_kernel/input/input_calls.h"

#include <asm/unistd.h>
#include <sys/ioctl.h>

#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

// A preadv2 or an ioctl is input only if it reads a stream.
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

const RecordedUse* find_input_call(const InputCall& call) {
    const auto* facts = find_syscall_facts(call.number);
    return facts && facts->recorded.compared != 0 && is_input(call) ? &facts->recorded : nullptr;
}

bool is_same_call(const InputCall& recorded, const InputCall& asked) {
    const RecordedUse* use = find_input_call(recorded);
    if (!use || recorded.number != asked.number ||
        recorded.instruction_end != asked.instruction_end || recorded.stack != asked.stack)
        return false;
    for (std::size_t i = 0; i < recorded.arguments.size(); ++i) {
        const bool compared = (use->compared >> i & 1) != 0;
        if (compared && recorded.arguments[i] != asked.arguments[i]) return false;
    }
    if (use->timeout < 0) return true;
    const auto timeout = static_cast<std::size_t>(use->timeout);
    return sign_of(recorded.arguments[timeout]) == sign_of(asked.arguments[timeout]);
}

}  // namespace shadowprof
