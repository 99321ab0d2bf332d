#include "guest_kernel/calls/syscall_table.h"

#include <algorithm>

#include "syscalls/syscall_lookup.h"
#include "syscalls/syscall_rows.h"

namespace shadowprof {
namespace {

consteval bool unsafe_means_without_handler() {
    return std::all_of(syscall_rows.begin(), syscall_rows.end(), [](const SyscallRow& row) {
        return static_cast<bool>(row.handler) != (row.syscall_class == SyscallClass::unsafe);
    });
}
static_assert(unsafe_means_without_handler(), "a class that does not fit its handler");

}  // namespace

SyscallHandlerFunction find_syscall_handler(const SyscallFacts& facts) {
    return syscall_rows[static_cast<std::size_t>(&facts - syscall_facts().data())].handler.get();
}

}  // namespace shadowprof
