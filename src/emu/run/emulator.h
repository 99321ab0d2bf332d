// Runs a guest from a snapshot of its registers and memory, natively translated, and leaves a
// trace.
//
// Knows nothing of ptrace: memory comes from a PageSource, system calls go to a SyscallHandler, the
// trace to a TraceSink. While run() executes, the process's handlers for SIGSEGV, SIGBUS, SIGILL,
// SIGFPE and SIGTRAP are the emulator's. One emulator runs at a time in a process.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <span>

#include "base/cpu_state.h"
#include "base/result.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/guest_threads.h"
#include "emu/guest/sample_end.h"
#include "emu/guest/syscall_handler.h"
#include "emu/run/trace_pacer.h"
#include "emu/trace/probe_record.h"
#include "emu/trace/trace_memory.h"
#include "emu/translation/block_tables.h"
#include "emu/translation/code_cache.h"
#include "emu/translation/superblock_finder.h"
#include "emu/translation/translator.h"
#include "emu/watch/access_watcher.h"
#include "emu/watch/probe_watch.h"

namespace shadowprof {

class TraceSink {
  public:
    virtual ~TraceSink() = default;
    // An empty buffer; `base` null ends the run with SampleEnd::stopped.
    virtual TraceBuffer acquire() = 0;
    // A part of the acquired buffer that now holds whole records of one thread, the oldest at its
    // end.
    virtual void submit(std::span<const std::uint64_t> words, GuestThreads::Index thread) = 0;
    // What a probe saw in front of the record that will stand behind `words` words of the acquired
    // buffer. False if there is no room for more before the buffer is submitted; behind that there
    // must be room for one of each probe, and one more.
    virtual bool note(const ProbeRecord&, std::size_t /*words*/) { return true; }
};

// Single-steps what cannot be translated, on the replica.
class Stepper {
  public:
    virtual ~Stepper() = default;
    // Executes the instruction at cpu.rip. Before the call, `memory` holds the guest's memory;
    // after it, every page must be fetched anew (GuestMemory::drop_pages has been called if need
    // be).
    virtual std::optional<SampleEnd> step(CpuState& cpu, GuestMemory& memory) = 0;
};

struct RunResult {
    SampleEnd end = SampleEnd::size;
    std::uint64_t instructions = 0;   // an estimate: exact counts are the collectors'
    GuestThreads::Done of_lead = {};  // about
    bool other_ended_it = false;      // the first thread leads, and another one ended the run
    std::uint64_t single_stepped = 0;
    std::uint64_t syscalls = 0;
    std::uint64_t vdso_calls = 0;       // most ask for the time
    std::uint64_t stopped_threads = 0;  // that came to something they cannot go beyond
    int signal = 0;                     // of a fault
    GuestAddress fault_address;         // what a faulting instruction wanted to access
    // All registers of the awaited state agreed at a visit, though it was not met.
    bool nearly_met = false;
};

class Emulator {
  public:
    // `tables` receives the meaning of trace words and must outlive the emulator.
    static Result<std::unique_ptr<Emulator>> create(BlockTables& tables,
                                                    SegmentBases bases = host_segment_bases());
    ~Emulator();
    Emulator(const Emulator&) = delete;
    Emulator& operator=(const Emulator&) = delete;

    // Shows the guest a new snapshot. Translated code that still holds is kept.
    Result<void> begin_sample(MemoryMap map, PageSource& source,
                              Nondeterminism nondeterminism = Nondeterminism::native,
                              PageUse use = PageUse::once);
    // The source has become what the guest's memory is, but for what changed since. False if its
    // new mappings cannot be shown without beginning anew.
    bool next_interval(std::span<const MemoryRange> changed, std::optional<MemoryMap> layout);
    // Runs the threads from their registers on, and leaves their state at the end there. What one
    // of them cannot go beyond (stops_one_thread()) ends the run when it has stopped all. `stepper`
    // may be null: then that includes what cannot be translated.
    RunResult run(GuestThreads& threads, const RunLimits& limits, SyscallHandler& syscalls,
                  TraceSink& sink, Stepper* stepper = nullptr);
    // A guest of one thread.
    RunResult run(CpuState& cpu, const RunLimits& limits, SyscallHandler& syscalls, TraceSink& sink,
                  Stepper* stepper = nullptr);
    // Translates ahead of need, from code that a process that may run maps now: see
    // Translator::translate_ahead(). Not in a sample. False also if there is no room for its
    // mappings.
    bool translate_ahead(MemoryMap map, PageSource& source, std::span<const GuestAddress> roots,
                         BurstLevels bursts, const std::function<bool()>& goes_on);
    // From now on `watcher` is asked before each access; null: nobody is. Not while a run is under
    // way. Code for one is none for the other: changing it is dear.
    void watch_accesses(AccessWatcher* watcher) {
        watcher_ = watcher;
        translator_.announce_accesses(watcher != nullptr);
    }
    // From now on what `probes` asks for goes to the sink; null: nothing does. Not while a run is
    // under way; forgets all code.
    void watch_probes(ProbeWatch* probes) {
        probes_ = probes;
        translator_.announce_probed(probes);
    }
    // The next run ends with SampleEnd::met where the first thread comes by this state; null:
    // nowhere. It must live as long. In a sample, and not while a run is under way.
    void await(const AwaitedState* state) {
        awaited_ = state;
        translator_.await(state);
    }
    void end_sample() { memory_.end_sample(); }
    // Nothing that was translated so far is used any more, and no page of an earlier sample.
    void forget_code() {
        translator_.clear();
        memory_.end();
    }

    GuestMemory& memory() { return memory_; }
    const TranslationCounters& translation() const { return translator_.counters(); }
    // The block tables are full: nothing new can be translated any more.
    bool exhausted() const { return tables_.full(); }

  private:
    class Run;
    class SignalScope;

    struct FaultInfo {
        int signal = 0;
        GuestAddress address;
        bool code_write = false;
    };

    Emulator(BlockTables& tables, std::unique_ptr<Emulator*> self,
             std::unique_ptr<CodeCache> cache);
    // `self` is the address of an Emulator*, which is set while one exists.
    static void on_signal(void* self, int signal, void* info, void* ucontext);
    void handle_signal(int signal, const siginfo_t& info, ucontext_t& context);
    void begin_translator(bool same_files);
    void leave_by_fault(const FaultInfo& fault, ucontext_t& context);

    BlockTables& tables_;
    std::unique_ptr<Emulator*> self_;  // what translated code knows of us
    std::unique_ptr<CodeCache> cache_;
    GuestMemory memory_;
    Translator translator_;
    SuperblockFinder superblocks_;
    MemoryMap layout_;  // as the last snapshot showed it at first
    Mapping vdso_;      // of the last snapshot; empty if it had none
    Translator::VdsoEntries vdso_functions_;
    Nondeterminism nondeterminism_ = Nondeterminism::native;
    AccessWatcher* watcher_ = nullptr;
    ProbeWatch* probes_ = nullptr;
    const AwaitedState* awaited_ = nullptr;
    FaultInfo fault_;
    TraceBuffer buffer_;
};

}  // namespace shadowprof
