#include "shadow/exact/process/kernel_writes.h"

#include <asm/unistd.h>

#include <algorithm>

#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

// More ranges do not fit in a message to the worker.
constexpr std::size_t max_ranges = 4096;

KernelWrites anywhere() {
    return {{MemoryRange::all()}, true};
}

}  // namespace

PassedSyscall entered_call(const user_regs_struct& r) {
    return {r.orig_rax, {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9}, 0};
}

std::optional<std::vector<MemoryBytes>> needed_memory(const PassedSyscall& call,
                                                      MemoryReader& memory) {
    const auto* facts = find_syscall_facts(call.number);
    if (!facts || !depends_on_argument_memory(facts->memory)) return std::vector<MemoryBytes>{};
    return read_argument_memory(facts->memory, call.arguments, memory);
}

KernelWrites writes_of(const PassedSyscall& call,
                       const std::optional<std::vector<MemoryBytes>>& needed,
                       MemoryReader& memory) {
    const auto* facts = find_syscall_facts(call.number);
    if (!facts || !needed || may_write_anywhere(facts->memory, call.arguments)) return anywhere();
    KnownMemory known(*needed);
    auto ranges = written_ranges(facts->memory, call.arguments, call.result, known, memory);
    if (!ranges || ranges->size() > max_ranges) return anywhere();
    // The call may have failed after it received something.
    if (call.number == __NR_recvfrom && has_failed(call.result) && call.arguments[1] != 0)
        ranges->push_back({{call.arguments[1]},
                           {call.arguments[1] + std::min(call.arguments[2], max_transfer_bytes)}});
    return {std::move(*ranges), facts->memory.layout};
}

}  // namespace shadowprof
