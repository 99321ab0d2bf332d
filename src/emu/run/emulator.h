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
#include <optional>
#include <span>
#include <vector>

#include "base/cpu_state.h"
#include "base/result.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/guest_threads.h"
#include "emu/guest/guest_time.h"
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
#include "emu/watch/python_watch.h"
#include "emu/watch/region_watch.h"
#include "emu/watch/stack_watch.h"

namespace shadowprof {

class TraceSink {
  public:
    virtual ~TraceSink() = default;
    // An empty buffer. A null `base` ends the run with SampleEnd::stopped.
    virtual TraceBuffer acquire() = 0;
    // A part of the acquired buffer that now holds whole records of one thread, with the oldest at
    // its end.
    virtual void submit(std::span<const std::uint64_t> words, GuestThreads::Index thread) = 0;
    // Passes on everything that was submitted. No buffer is acquired.
    virtual void flush() {}
    // What a probe saw in front of the record that will stand behind `words` words of the acquired
    // buffer. If it returns false, the buffer is submitted before more notes come; there must still
    // be room for the notes of one instruction.
    virtual bool note(const ProbeRecord&, std::size_t /*words*/) { return true; }
    // A frame of a script has one, its function another one, and that function's texts the rest.
    static constexpr std::size_t max_notes_of_script = 26;
    // Each probe may have one, and the call of an allocator.
    // Those of a changed stack pointer are added one by one.
    static constexpr std::size_t max_notes_of_instruction =
        ProbeSet::max_probes + 1 + max_notes_of_script + 1;
};

// Single-steps instructions on the replica that cannot be translated.
class Stepper {
  public:
    virtual ~Stepper() = default;
    // Executes the instruction at cpu.rip. Before the call, `memory` holds the guest's memory;
    // afterwards every page must be fetched anew (GuestMemory::drop_pages() has been called if need
    // be).
    virtual std::optional<SampleEnd> step(CpuState& cpu, GuestMemory& memory) = 0;
};

struct RunResult {
    SampleEnd end = SampleEnd::size;
    std::uint64_t instructions = 0;   // an estimate; collectors have exact counts
    GuestThreads::Done of_lead = {};  // estimates
    bool other_ended_it = false;      // Lead::first, and another thread ended the run
    bool in_turn = false;             // the next one begins with the same thread, if they last
    std::uint64_t single_stepped = 0;
    std::uint64_t syscalls = 0;
    std::uint64_t vdso_calls = 0;       // most are for the time
    std::uint64_t stopped_threads = 0;  // threads that met a reason they cannot go beyond
    int signal = 0;                     // signal of a fault
    GuestAddress fault_address;         // address that a faulting instruction accessed
    // All registers of the awaited state agreed at a visit, but its memory did not.
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

    // Shows the guest a new snapshot. Translated code that is still valid is kept.
    Result<void> begin_sample(MemoryMap map, PageSource& source,
                              Nondeterminism nondeterminism = Nondeterminism::native,
                              PageUse use = PageUse::once);
    // Says that the source now has the contents of the guest's memory, except for `changed`. False
    // if the new mappings can be shown only by begin_sample().
    bool next_interval(std::span<const MemoryRange> changed, std::optional<MemoryMap> layout);
    // Says that the guest's mappings were changed in a run by GuestMemory::change_layout().
    void on_new_layout() { begin_translator(false); }
    // Runs the threads from their registers, and leaves their final state there. A reason that
    // stops one thread (stops_one_thread()) ends the run when all threads have stopped; if
    // threads last, at once. `stepper` may be null: then instructions that cannot be translated are
    // such a reason.
    RunResult run(GuestThreads& threads, const RunLimits& limits, SyscallHandler& syscalls,
                  TraceSink& sink, Stepper* stepper = nullptr);
    // Runs a guest of one thread.
    RunResult run(CpuState& cpu, const RunLimits& limits, SyscallHandler& syscalls, TraceSink& sink,
                  Stepper* stepper = nullptr);
    // Translates ahead of need from the current mappings of a process, which may be running: see
    // Translator::translate_ahead(). Must not be called in a sample. False also if there is no room
    // for the mappings.
    bool translate_ahead(MemoryMap map, PageSource& source, std::span<const GuestAddress> roots,
                         BurstLevels bursts, const std::function<bool()>& goes_on);
    // From now on `watcher` is asked before each access; null: nobody is. Must not be called during
    // a run. Changing it is expensive, as code with a watcher and code without one cannot be
    // shared.
    void watch_accesses(AccessWatcher* watcher) {
        watcher_ = watcher;
        translator_.instrument_accesses(watcher != nullptr);
    }
    // From now on, notes of `probes` go to the sink; null: there are none. Must not be called
    // during a run. Forgets all code.
    void watch_probes(ProbeWatch* probes) {
        probes_ = probes;
        translator_.instrument_probed(probes);
    }
    // From now on, entries into counted functions and returns from them are noted in the trace;
    // null: they are not. Must not be called during a run. Forgets all code.
    void watch_regions(RegionWatch* regions) {
        regions_ = regions;
        translator_.instrument_regions(regions);
    }
    // From now on, the Python functions that threads begin in, and those that the interpreter goes
    // on with, are noted in the trace; null: they are not. Must not be called during a run. Forgets
    // all code if `python` is another one.
    void watch_python(PythonWatch* python) {
        python_ = python;
        translator_.instrument_python(python);
    }
    // From now on, runs keep `time` at what the guest has executed, whenever the handler of system
    // calls is asked and at their end, and RDTSC and RDTSCP show it. Null: runs do not count.
    void keep_time(GuestTime* time) { time_ = time; }
    // The next run ends with SampleEnd::met if the first thread reaches this state; null: no state
    // is awaited. `state` must live as long. To be called in a sample, but not during a run.
    void await(const AwaitedState* state) {
        awaited_ = state;
        translator_.await(state);
    }
    void end_sample() {
        memory_.end_sample();
        stand_at_.clear();
        stacks_.forget();
    }
    // Forgets all translated code and all pages of earlier samples.
    void forget_code() {
        translator_.clear();
        memory_.end();
    }

    GuestMemory& memory() { return memory_; }
    const TranslationCounters& translation() const { return translator_.counters(); }
    // Whether the block tables are full, so that nothing new can be translated.
    bool exhausted() const { return tables_.full(); }

  private:
    class Run;
    class SignalScope;

    static constexpr double first_turn_words_per_instruction = 0.1;

    struct FaultInfo {
        int signal = 0;
        GuestAddress address;
        bool code_write = false;
    };

    // Where a thread was when a run or a system call left it.
    struct StandsAt {
        std::uint64_t birth = 0;
        GuestAddress pc;
        std::uint64_t stack_pointer = 0;
        bool returns_from_handler = false;  // by a system call
    };

    // A call whose result was not noted yet.
    struct CallInProgress {
        GuestAddress pc;
        std::uint32_t number;
        std::optional<std::uint64_t> result = {};  // if the call has returned
    };

    Emulator(BlockTables& tables, std::unique_ptr<Emulator*> self,
             std::unique_ptr<CodeCache> cache);
    // `self` is the address of an Emulator*, which is set as long as that emulator exists.
    static void on_signal(void* self, int signal, void* info, void* ucontext);
    void handle_signal(int signal, const siginfo_t& info, ucontext_t& context);
    void begin_translator(bool same_files);
    // Lets turns be the same whatever runs came before: their lengths depend on superblocks.
    void forget_history() {
        translator_.clear();
        superblocks_.forget();
        cut_turn_ = {};
        turn_words_per_instruction_ = first_turn_words_per_instruction;
    }
    void leave_by_fault(const FaultInfo& fault, ucontext_t& context);

    BlockTables& tables_;
    std::unique_ptr<Emulator*> self_;  // referred to by translated code
    std::unique_ptr<CodeCache> cache_;
    GuestMemory memory_;
    StackWatch stacks_;
    Translator translator_;
    SuperblockFinder superblocks_;
    MemoryMap layout_;  // as the last snapshot first showed it
    Mapping vdso_;      // in the last snapshot; empty if it had none
    Translator::VdsoEntries vdso_functions_;
    Nondeterminism nondeterminism_ = Nondeterminism::native;
    AccessWatcher* watcher_ = nullptr;
    ProbeWatch* probes_ = nullptr;
    PythonWatch* python_ = nullptr;
    RegionWatch* regions_ = nullptr;
    GuestTime* time_ = nullptr;
    const AwaitedState* awaited_ = nullptr;
    FaultInfo fault_;
    TraceBuffer buffer_;
    // A turn that goes on in the next run (RunLimits::turn_words). Its words are counted with those
    // to come, as they would be in one piece.
    struct CutTurn {
        std::vector<std::uint64_t> words;
        std::size_t words_left = 0;
    };
    CutTurn cut_turn_;
    // How long the last turn's trace was. Runs hand it on: turns do not depend on where runs end.
    double turn_words_per_instruction_ = first_turn_words_per_instruction;
    // By thread. Runs with RunLimits::notes_call_results may end between a call's return and the
    // thread's next turn.
    std::vector<std::optional<CallInProgress>> calls_in_progress_;
    // By thread. Runs may end between this and the thread's next turn.
    std::vector<std::optional<StandsAt>> stand_at_;
};

}  // namespace shadowprof
