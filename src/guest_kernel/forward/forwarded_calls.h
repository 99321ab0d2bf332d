// Has the guest's system calls made by a real process, which is the guest's kernel side: it has the
// guest's descriptors, mappings, signal handlers and ids, and memory of its own. Before a call,
// what the kernel will read is brought into that memory. Afterwards, what the kernel wrote is taken
// back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/memory_range.h"
#include "emu/guest/syscall_handler.h"
#include "emu/worker/worker_main.h"
#include "guest_kernel/forward/call_messages.h"
#include "guest_kernel/forward/client_requests.h"
#include "guest_kernel/forward/guest_futexes.h"
#include "syscalls/call_memory.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

class ForwardedCalls final : public SyscallHandler {
  public:
    // `links` must outlive it.
    explicit ForwardedCalls(const ProcessLinks& links);

    // The trace is told apart by the mappings and the threads of its time.
    bool wants_trace(const CpuState& cpu) const override;
    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t elapsed_ns) override;
    // Takes the results of calls under way that have ended.
    std::optional<SampleEnd> before_turn(GuestThreads& threads, GuestSpace& space) override;
    void on_moved(GuestThreads::Index thread, GuestThreads::State state) override;
    // Answers by the guest's time (ProcessLinks::time), or else by the worker's own clocks, which
    // are the process's. Its processor time is that of the emulation.
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                     GuestSpace& space, std::uint64_t elapsed_ns) override;
    std::optional<RegionEvent> on_client_request(CpuState& cpu, GuestSpace& space) override {
        return answer_client_request(cpu, space);
    }

  private:
    struct Call {
        std::uint32_t number;
        CallArguments arguments;
        const SyscallFacts* facts;  // null: no such call
    };
    struct Answer : CallAnswer {
        std::optional<CpuState> born;
        std::vector<MemoryRange> ranges;
    };

    static Call call_of(const CpuState& cpu);
    std::optional<Answer> ask(CallRequest request);
    bool bring(const Call& call, const CpuState& cpu, GuestThreads::Index thread,
               CallRequest& request);
    bool others_see_end() const;
    bool bring_known(const Call& call, const CpuState& cpu, GuestThreads::Index thread);
    std::optional<SampleEnd> follow(const Answer& answer, bool was_current, GuestThreads& threads,
                                    GuestSpace& space);
    std::optional<SampleEnd> finish(const Answer& answer, bool was_current, GuestThreads& threads);
    void end_thread(const Answer& answer, GuestThreads& threads, GuestSpace& space);
    void note_rseq(const Call& call, GuestThreads::Index thread);
    void abort_restartable(GuestThreads& threads, GuestSpace& space);
    void leave_to_kernel(GuestThreads::Index thread, const Call& call);
    void note_under_way(GuestThreads& threads);
    void take_from_kernel(GuestThreads::Index thread);
    void tell_under_way();
    std::optional<SampleEnd> take(const Call& call, const CallAnswer& answer,
                                  GuestThreads::Index thread, bool was_current);
    std::optional<SampleEnd> take_layout(const CallAnswer& answer);
    void add_processor_time(const Call& call, std::uint64_t result);
    std::int64_t processor_ns() const;
    bool has_own_time() const { return links_.time != nullptr && links_.time->is_virtual != 0; }
    std::optional<std::int64_t> clock_ns(clockid_t clock) const;
    std::int64_t monotonic_ns() const { return *clock_ns(CLOCK_MONOTONIC); }
    std::optional<std::int64_t> answer_vdso(VdsoFunction function, GuestAddress first,
                                            GuestAddress second, GuestSpace& space) const;
    std::optional<std::int64_t> answer_by_own_time(const Call& call, GuestSpace& space);
    void pass_time_until(std::int64_t monotonic_ns);
    void note_wait(GuestThreads::Index thread, const Call& call);
    void await_times(GuestThreads& threads) const;
    bool find_timer_due();
    void end_wait(GuestThreads::Index thread, const Call& call, std::uint64_t result);

    ProcessLinks links_;
    std::int64_t began_ns_;  // the worker's processor time
    GuestFutexes futexes_;
    // By thread: the memory that its call may write while it is under way.
    std::map<GuestThreads::Index, std::vector<MemoryRange>> under_way_;
    // By thread: the memory that its call may write, if it may meet some that it cannot use. The
    // process has what the guest wrote there before.
    std::map<GuestThreads::Index, std::vector<MemoryRange>> half_written_;
    // By thread: how long its call waits at most. Of guests with a time of their own.
    std::map<GuestThreads::Index, std::int64_t> longest_waits_ns_;
    bool begins_ = true;
    std::int64_t asked_ns_ = 0;  // when it was last asked for calls that have ended
};

}  // namespace shadowprof
