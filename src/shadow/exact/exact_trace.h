// The trace of a process that exact mode follows, on its way to a collector.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "profile/code/module_table.h"
#include "profile/collect/sample_collector.h"
#include "shadow/emulation/trace_consumer.h"
#include "shadow/exact/counted_regions.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

// Passes the trace to a collector. Each contiguous part of it is a sample.
class ExactTrace final : public TraceUser {
  public:
    // `collector`, `modules` and `parts` must outlive it. Without bursts in `options`, everything
    // counts that the program does not leave out (CountedRegions).
    ExactTrace(SampleCollector& collector, ModuleTable& modules, PartTaker& parts,
               const RunOptions& options, std::uint64_t seed);

    // The trace of another process begins. `view` is given for all but the run's first one. Needs
    // that end() has been called since the last process, if there was one.
    void begin_process(std::optional<CodeView> view);

    void begin_program() override;
    void restart(pid_t id, std::vector<GuestAddress> stack) override;
    void begin_thread(GuestThreads::Index index, pid_t id,
                      std::vector<GuestAddress> stack) override;
    void set_layout(MemoryMap map) override;
    void use(GuestThreads::Index thread, std::span<const std::uint64_t> words,
             const BlockTable& table) override;
    void use(const ProbeRecord& record) override;
    void new_emulator() override;
    void spend(std::uint64_t cpu_ns) override { counts_.cpu_ns += cpu_ns; }

    // The counts of a process.
    struct Counts {
        std::uint64_t instructions = 0;
        std::uint64_t parts = 0;
        std::uint64_t cpu_ns = 0;                       // that the collector took
        std::map<pid_t, std::uint64_t> by_thread = {};  // instructions, by the thread's id
        bool is_damaged = false;
        RegionCounts regions = {};
    };
    // Ends the last part. Needs that everything is used.
    Counts end();
    // So far. May be called while the trace is used.
    std::uint64_t instructions() const { return instructions_; }

  private:
    void end_part();

    SampleCollector& collector_;
    PartTaker& parts_;
    CountedRegions regions_;
    MemoryMap map_;
    ModuleTable& modules_;
    std::optional<CodeView> view_;
    std::optional<MapResolver> resolver_;
    const std::optional<BurstPlan> bursts_;
    const std::uint64_t seed_;
    std::atomic<std::uint64_t> instructions_ = 0;
    Counts counts_;
    std::vector<pid_t> ids_;  // of the threads at present
    bool open_ = false;
};

}  // namespace shadowprof
