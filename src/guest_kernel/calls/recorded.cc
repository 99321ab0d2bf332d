// Calls that get the results of the program's own calls.
#include "guest_kernel/calls/recorded.h"

#include <algorithm>
#include <vector>

#include "guest_kernel/input/recorded_input.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

SyscallOutcome differs() {
    return ends(SampleEnd::input, "asks for other input than the program read");
}

InputCall input_call(const SyscallCall& call) {
    InputCall input{.thread = call.threads.current(),
                    .number = static_cast<std::uint32_t>(call.cpu[Gpr::rax]),
                    .instruction_end = call.cpu.rip.value,
                    .stack = call.cpu[Gpr::rsp]};
    for (std::size_t i = 0; i < input.arguments.size(); ++i)
        input.arguments[i] = call.arg(static_cast<int>(i));
    return input;
}

bool holds(SyscallCall& call, const MemoryBytes& expected) {
    std::vector<std::byte> found(expected.bytes.size());
    return call.space.read(expected.address, found) && found == expected.bytes;
}

// Another thread of the program may have freed a number that is still in use here: then the
// sample's own result is not known.
bool add_descriptors(SyscallCall& call, const RecordedInput& input) {
    return std::all_of(input.descriptors.begin(), input.descriptors.end(),
                       [&](const NewDescriptor& descriptor) {
                           return call.sample.descriptors.adopt(descriptor.fd, descriptor.facts);
                       });
}

SyscallOutcome replay(SyscallCall& call, const RecordedInput& input) {
    for (const MemoryBytes& expected : input.expected)
        if (!holds(call, expected)) return differs();
    for (const MemoryBytes& written : input.written)
        if (!call.space.write(written.address, written.bytes)) return differs();
    if (!add_descriptors(call, input)) return differs();
    call.sample.waited_ns += input.duration_ns;
    return answer(input.value);
}

SyscallOutcome recorded_or(SyscallCall& call, SampleEnd if_not_yet) {
    const auto bytes = call.sample.outside.take_input(input_call(call));
    if (!bytes) {
        const Error& error = bytes.error();
        if (error.code == ErrorCode::gone) return from_error(error);
        if (error.code == ErrorCode::interrupted) return ends(if_not_yet, error.message);
        return ends(SampleEnd::input, error.message);
    }
    const auto input = decode_input(*bytes);
    return input ? replay(call, *input) : ends(SampleEnd::input, input.error().message);
}

}  // namespace

SyscallOutcome recorded_input(SyscallCall& call) {
    return recorded_or(call, SampleEnd::input);
}

SyscallOutcome recorded_wait(SyscallCall& call) {
    return recorded_or(call, SampleEnd::idle);
}

}  // namespace shadowprof
