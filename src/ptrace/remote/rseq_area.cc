#include "ptrace/remote/rseq_area.h"

#include <linux/rseq.h>

#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {

Result<RseqArea> read_rseq_area(const StoppedThread& thread) {
    __ptrace_rseq_configuration configuration{};
    const auto size = ptrace_call(PTRACE_GET_RSEQ_CONFIGURATION, thread.tid(), sizeof configuration,
                                  &configuration, "read the rseq configuration");
    if (!size) {
        if (size.error().code == ErrorCode::gone) return size.error();
        return RseqArea{};  // the kernel has no rseq
    }
    const GuestAddress start{configuration.rseq_abi_pointer};
    if (start == GuestAddress{}) return RseqArea{};
    return RseqArea{start, start + configuration.rseq_abi_size};
}

Result<bool> in_restartable_sequence(const StoppedThread& thread, std::uint64_t rip) {
    TRY_ASSIGN(const RseqArea area, read_rseq_area(thread));
    if (area.empty()) return false;
    ProcessMemory memory(thread.tid());
    const auto sequence =
        read_value<std::uint64_t>(memory, area.start + offsetof(struct rseq, rseq_cs));
    if (!sequence || *sequence == 0) return false;
    const auto bounds = read_value<struct rseq_cs>(memory, {*sequence});
    return bounds && rip - bounds->start_ip < bounds->post_commit_offset;
}

}  // namespace shadowprof
