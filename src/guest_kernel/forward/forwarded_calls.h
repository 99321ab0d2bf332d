// Has the guest's system calls made by a real process, which is the guest's kernel side: it has the
// guest's descriptors, mappings, signal handlers and ids, and memory of its own. Before a call,
// what the kernel will read is brought into that memory. Afterwards, what the kernel wrote is taken
// back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_range.h"
#include "emu/guest/syscall_handler.h"
#include "emu/worker/worker_main.h"
#include "guest_kernel/forward/call_messages.h"
#include "syscalls/call_memory.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

class ForwardedCalls final : public SyscallHandler {
  public:
    // `links` must outlive it.
    explicit ForwardedCalls(const ProcessLinks& links);

    // The trace is told apart by the mappings of its time.
    bool wants_trace(const CpuState& cpu) const override;
    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t elapsed_ns) override;
    // Answers by the worker's own clocks, which are the process's. Its processor time is that of
    // the emulation.
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                     GuestSpace& space, std::uint64_t elapsed_ns) override;

  private:
    struct Call {
        std::uint32_t number;
        CallArguments arguments;
        const SyscallFacts* facts;  // null: no such call
    };

    bool bring(const Call& call, const CpuState& cpu, CallRequest& request);
    bool bring_known(const Call& call, const CpuState& cpu);
    std::optional<SampleEnd> take(const Call& call, const CallAnswer& answer, bool was_current);
    std::optional<SampleEnd> take_layout(const CallAnswer& answer);
    void add_processor_time(const Call& call, std::uint64_t result);
    std::int64_t processor_ns() const;

    ProcessLinks links_;
    std::int64_t began_ns_;  // the worker's processor time
};

}  // namespace shadowprof
