// Collects the samples of one emulator: blocks go to the path graph, values to hotlists.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "emu/trace/probe_record.h"
#include "emu/trace/trace.h"
#include "profile/code/block_registry.h"
#include "profile/code/block_vector.h"
#include "profile/code/module_table.h"
#include "profile/collect/record_follower.h"
#include "profile/collect/reference_collector.h"
#include "profile/collect/trace_reader.h"
#include "profile/flow/burst_follower.h"
#include "profile/flow/shared_totals.h"
#include "profile/kinds/paths/path_graph.h"
#include "profile/kinds/probes/probe_totals.h"
#include "profile/kinds/system_calls/system_call_totals.h"
#include "profile/kinds/values/value_bank.h"

namespace shadowprof {

struct CollectorOptions {
    bool values = true;      // keep the values of records that have some
    bool tnv = false;        // also by TNV tables, for comparison; slow
    std::uint64_t seed = 1;  // of the hotlists' coins
    FlowLimits limits;
    // What is collected stands for more than itself: profiles state errors, which costs a fold for
    // each of the first samples, and there are block vectors.
    bool are_samples = true;
    // How much samples weigh may depend on what the kernel's clock says at the end
    // (clock_weights.h). Needs samples without bursts (SampleStart::bursts).
    bool weighs_by_clock = false;
    // The window of the processor. With it memory hazards and address patterns are kept, of records
    // with references.
    std::optional<ReorderWindow> references = {};
    // Data streams are, of the same records.
    std::optional<StreamLimits> streams = {};
    // Values are also kept by so many callers, from the innermost on; 0: they are not.
    std::size_t value_callers = 1;
    // What probes see is kept.
    ProbeSet probes = {};
    // System calls are, where they are noted.
    bool system_calls = false;
    // By whom stacks say in which function code executed; it outlives the collectors. Null: by
    // calls, and by jumps into other modules alone.
    FunctionFinder* functions = nullptr;
};

// How a sample begins.
struct SampleStart {
    AddressResolver& resolver;  // of the sample's memory layout; needed until the sample's end
    // Innermost first: the program counter, then return addresses. May be cut short or empty.
    std::span<const GuestAddress> stack;
    // Executed before anything is counted, in whole blocks; only calls and returns are followed.
    std::uint64_t skip_instructions = 0;
    // At least 1. What the sample counts of control flow counts so often, so that samples which are
    // taken at varying rates add up to what the program does; so do hazards, address patterns,
    // streams and system calls. Values are not weighted.
    std::uint32_t weight = 1;
    // The program's processor time that the sample stands for. Its instructions share it evenly.
    double time_ns = 0;
    // Where the first thread was, if that was in the program's own code.
    std::optional<GuestAddress> began_at = {};
    // As many as it is likely to count; 0: not known. If there are so many that they do not fit in
    // memory, they share the time by it.
    std::uint64_t expected_instructions = 0;
    // Edges, paths and calls count in bursts alone, whose random choices are those of `seed`;
    // stacks, instructions and values as ever.
    const BurstPlan* bursts = nullptr;
    std::uint64_t seed = 0;
};

struct BatchResult {
    std::uint64_t instructions = 0;  // of the batch's blocks that count, each once
    // The trace holds what no emulator writes. What came before counts; the rest of the sample is
    // ignored.
    bool damaged = false;
};

// Takes one sample after the other, from one thread at a time. add_to() may be called by another.
class SampleCollector {
  public:
    // `registry` and `totals` are shared and must outlive it.
    SampleCollector(BlockRegistry& registry, SharedTotals& totals, const CollectorOptions& options);

    // Ids come from another emulator from now on: the worker process was replaced. Not in a sample.
    void new_emulator();

    // A sample: begin(), with the stack of the first thread; its batches, those of each thread in
    // the order of execution; end(). Other threads are numbered from 1 on and begin with
    // begin_thread(); without that, with their first batch and no stack. The oldest record of a
    // batch is its last. Where a trace is cut into batches, even inside a record, changes nothing
    // but by which coins hotlists that are not exact are thinned. Blocks and values count at
    // whatever level they were traced. A record that is still incomplete at the end does not count.
    // `table` must know the blocks of the batch.
    void begin(const SampleStart& start);
    void begin_thread(std::uint32_t thread, std::span<const GuestAddress> stack);
    BatchResult add(std::uint32_t thread, std::span<const std::uint64_t> batch,
                    const BlockTable& table);
    // What a probe saw before the next record of the thread is executed, if that begins there; or a
    // system call behind the last record (system_call_note). Hostile.
    void add_probed(const ProbeRecord& record);
    BatchResult add(std::span<const std::uint64_t> batch, const BlockTable& table) {
        return add(0, batch, table);
    }
    void end();

    // What the last sample executed. Needs that none has begun since.
    const BlockVector& block_vector() const { return block_vector_; }

    // Moves what was counted so far to the shared totals' batch, and adds the values to `values`,
    // what references say to `references`.
    void add_to(ValueTotals& values, ReferenceTotals& references);
    // Adds the system calls that were noted so far.
    void add_to(SystemCallTotals& calls);
    // What probes saw so far, in the order of the probes.
    std::vector<ProbeProfile> probed();

  private:
    // What is to be known of a thread while another one is followed.
    struct Thread {
        bool begun = false;
        RecordFollower::Place place = {};
        std::uint64_t skip_instructions = 0;
        std::vector<BlockToken> skipped;  // the last ones, not consumed yet
        std::optional<BurstFollower> bursts = {};
        std::vector<ProbeRecord> probed = {};  // before the record that comes next
    };

    void count_events(EventKinds kinds);
    void start_thread(std::uint32_t thread, std::span<const GuestAddress> stack);
    void turn_to(std::uint32_t thread);
    void follow();
    void follow_between_bursts(BurstFollower& bursts);
    template <typename Limit>
    void follow_up_to(Limit& limit);
    template <typename Limit>
    void follow_plain(Limit& limit);
    void look_at(std::span<const BlockToken> record, std::uint64_t random);
    void take(const TraceRecord& record);
    void take_in_bursts(BurstFollower& bursts, const TraceRecord& record);
    void note_traced(std::uint64_t events);
    void skip(std::span<const BlockToken> blocks);
    void add_system_call(const ProbeRecord& record);
    void settle_probed(const TraceRecord& next, std::optional<RecordFollower::Place> place);
    double time_of_part_ns() const;
    void note_executed();
    enum class Part : std::uint8_t { goes_on, last };
    void fold(double time_ns, Part part);
    void hold(Part part);
    void empty_graph();
    void forget_records();

    std::mutex mutex_;
    SharedTotals& totals_;
    BlockView blocks_;
    ValueBank bank_;
    std::optional<ReferenceCollector> references_;
    ProbeTotals probes_;
    const bool counts_system_calls_;
    SystemCallTotals system_calls_;
    TraceReader reader_;
    PathGraph graph_;
    RecordFollower follower_;
    RecordCallers callers_;
    std::optional<BurstPlan> bursts_;  // of this sample
    std::uint64_t seed_ = 0;           // of them
    BurstSink burst_sink_;
    BurstCounts traced_;                            // of this sample: `values` and `references`
    TraceLevel traced_level_ = TraceLevel::blocks;  // of its last record that counts
    std::vector<Thread> threads_;
    std::uint32_t current_ = 0;  // of which reader and follower know
    AddressResolver* resolver_ = nullptr;
    std::uint64_t skip_instructions_ = 0;      // that each thread begins with
    std::uint32_t weight_ = 1;                 // of this sample
    std::uint64_t instructions_ = 0;           // of this sample
    std::uint64_t noted_instructions_ = 0;     // of these, in unfolded_
    FlowTotals::Batch unfolded_;               // of samples, maybe several
    std::uint64_t expected_instructions_ = 0;  // of this sample
    std::optional<CodeLocation> began_at_;     // the same: SampleStart::began_at
    bool is_first_part_ = true;                // that is folded next
    double time_ns_ = 0;                       // that it stands for
    double time_left_ns_ = 0;                  // for what is not folded
    RecordLooks looks_;
    BlockVector block_vector_;  // of this sample
    const bool are_samples_;
    bool in_sample_ = false;
};

}  // namespace shadowprof
