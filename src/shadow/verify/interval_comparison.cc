// What is compared at the end of an interval.
#include "base/text/numbered.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/exact/state_comparison.h"
#include "shadow/verify/interval_run.h"

namespace shadowprof {

Result<std::vector<std::string>> IntervalRun::compare(Boundary boundary,
                                                      const SampleOutcome& emulated,
                                                      std::vector<MemoryDifference>* bytes) {
    TRY_ASSIGN(auto found, compare_registers(boundary, emulated));
    TRY_ASSIGN(const auto memory, compare_memory(bytes));
    found.insert(found.end(), memory.begin(), memory.end());
    if (!found.empty())
        found.insert(found.begin(), fmt::format("ended at {:#x}", emulated.cpu.rip.value));
    return found;
}

Result<std::vector<std::string>> IntervalRun::compare_registers(Boundary boundary,
                                                                const SampleOutcome& emulated) {
    TRY_ASSIGN(auto native, thread_.snapshot());
    if (boundary == Boundary::syscall) {
        // The kernel has put -ENOSYS into RAX already.
        TRY_ASSIGN(const auto registers, thread_.registers());
        native.cpu[Gpr::rax] = registers.orig_rax;
    }
    native_end_.cpu = native.cpu;
    auto emulated_cpu = emulated.cpu;
    if (boundary == Boundary::cut) {
        ProcessMemory memory(thread_.tid());
        adopt_dead_flags(native.cpu, emulated_cpu, memory);
    }
    return differences(native.cpu, emulated_cpu);
}

// Compares all memory that was written to since the last comparison.
Result<std::vector<std::string>> IntervalRun::compare_memory(std::vector<MemoryDifference>* bytes) {
    // The kernel writes to this area when it preempts the thread.
    const auto& rseq = rseq_->area();
    TRY_ASSIGN(const auto memory, of_worker(worker_->compare_memory({rseq.start, rseq.end})));
    auto found = differences(memory);
    if (bytes) bytes->insert(bytes->end(), memory.differences, memory.differences + found.size());
    if (memory.pages_unreadable)
        found.push_back(fmt::format("{} that the emulator wrote to and the program does not have",
                                    numbered(memory.pages_unreadable, "page")));
    stats_.pages_compared += memory.pages_compared;
    return found;
}

}  // namespace shadowprof
