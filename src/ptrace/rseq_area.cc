#include "ptrace/rseq_area.h"

#include "ptrace/ptrace_call.h"

namespace shadowprof {

Result<RseqArea> read_rseq_area(const StoppedThread& thread) {
    __ptrace_rseq_configuration configuration{};
    const auto size = ptrace_call(PTRACE_GET_RSEQ_CONFIGURATION, thread.tid(), sizeof configuration,
                                  &configuration, "read the rseq configuration");
    if (!size) {
        if (size.error().code == ErrorCode::gone) return size.error();
        return RseqArea{};  // a kernel without it
    }
    const GuestAddress start{configuration.rseq_abi_pointer};
    if (start == GuestAddress{}) return RseqArea{};
    return RseqArea{start, start + configuration.rseq_abi_size};
}

}  // namespace shadowprof
