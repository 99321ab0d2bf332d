#include "shadow/input/input_memory.h"

#include "syscalls/call_memory.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

const MemoryUse& memory_use(const InputCall& call) {
    static constexpr MemoryUse none = {.is_known = true};
    const auto* facts = find_syscall_facts(call.number);
    return facts ? facts->memory : none;
}

}  // namespace

std::optional<std::vector<MemoryBytes>> argument_memory(const InputCall& call,
                                                        MemoryReader& memory) {
    return read_argument_memory(memory_use(call), call.arguments, memory);
}

std::optional<std::vector<MemoryBytes>> written_memory(const InputCall& call, std::int64_t value,
                                                       const std::vector<MemoryBytes>& arguments,
                                                       MemoryReader& memory,
                                                       std::size_t max_bytes) {
    if (value < 0) return std::vector<MemoryBytes>{};
    KnownMemory known(arguments);
    const auto ranges = written_ranges(memory_use(call), call.arguments,
                                       static_cast<std::uint64_t>(value), known, memory);
    if (!ranges) return std::nullopt;
    return read_ranges(*ranges, memory, max_bytes);
}

std::vector<std::int32_t> made_descriptors(const InputCall& call, std::int64_t value,
                                           const std::vector<MemoryBytes>& arguments,
                                           const std::vector<MemoryBytes>& written) {
    const auto* facts = find_syscall_facts(call.number);
    if (value < 0 || !facts) return {};
    if (facts->result == SyscallResult::descriptor) return {static_cast<std::int32_t>(value)};
    KnownMemory known(arguments), got(written);
    return received_descriptors(facts->memory, call.arguments, static_cast<std::uint64_t>(value),
                                known, got);
}

}  // namespace shadowprof
