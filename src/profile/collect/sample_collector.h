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
#include "profile/collect/leaving_stacks.h"
#include "profile/collect/record_follower.h"
#include "profile/collect/reference_collector.h"
#include "profile/collect/script_frames.h"
#include "profile/collect/stack_changes.h"
#include "profile/collect/trace_reader.h"
#include "profile/flow/burst_follower.h"
#include "profile/flow/shared_totals.h"
#include "profile/kinds/allocations/allocation_collector.h"
#include "profile/kinds/branches/branch_collector.h"
#include "profile/kinds/call_costs/call_cost_collector.h"
#include "profile/kinds/paths/path_graph.h"
#include "profile/kinds/probes/probe_totals.h"
#include "profile/kinds/stacks/stack_collector.h"
#include "profile/kinds/system_calls/calls_in_progress.h"
#include "profile/kinds/system_calls/system_call_totals.h"
#include "profile/kinds/values/value_bank.h"

namespace shadowprof {

struct CollectorOptions {
    bool values = true;      // keep the values in the trace
    bool tnv = false;        // keep TNV tables too, for comparison; slow
    std::uint64_t seed = 1;  // seed of the hotlists' coins
    FlowLimits limits;
    // Samples stand for more than themselves: profiles state errors, which costs a fold for each of
    // the first samples, and samples have block vectors.
    bool are_samples = true;
    // Whether weights may depend on what looks say at the end (time_weights.h).
    // Needs samples without bursts (SampleStart::bursts).
    bool weighs_by_time = false;
    // The reorder window of the processor. If it is set, memory hazards and address patterns are
    // collected from records with references.
    std::optional<ReorderWindow> references = {};
    // If set, data streams are collected from the same records.
    std::optional<StreamLimits> streams = {};
    // If set, accesses and misses of such caches are counted from the same records. Between two
    // records nothing may be left out.
    std::optional<CacheModel> caches = {};
    // Values are also kept by this many innermost callers; 0: not by caller.
    std::size_t value_callers = 1;
    // The probes whose events are kept.
    ProbeSet probes = {};
    // Whether to count the system calls noted in the trace.
    bool system_calls = false;
    // Whether to count the calls of allocators noted in the trace.
    bool allocations = false;
    // Whether to count branches and model what a predictor makes of them. The blocks of each record
    // are then looked at, as the model depends on the order of all branches.
    bool branches = false;
    // Whether to add up what calls cost. The records are then looked at one by one.
    bool call_costs = false;
    // When calls are followed beside the path graph, which is not done for samples, as each is
    // folded by itself.
    LeavingStacks leaving_stacks = {};
    // Finds the function that stacks attribute code to; it must outlive the collectors. If null,
    // only calls and jumps into other modules begin a function.
    FunctionFinder* functions = nullptr;
    // Names the functions of scripts, which then are in stacks; it must outlive the collectors.
    // Null: they are not.
    ScriptFunctions* scripts = nullptr;
};

struct SampleStart {
    AddressResolver& resolver;  // for the sample's memory layout; needed until its end
    // The stack, innermost first: program counter, then return addresses. May be cut short or
    // empty.
    std::span<const GuestAddress> stack;
    // Instructions to execute before anything is counted, in whole blocks. Only their calls and
    // returns are followed.
    std::uint64_t skip_instructions = 0;
    // How often each execution counts, at least 1, so that samples taken at varying rates add up to
    // what the program does. Applies to control flow, hazards, address patterns, streams and system
    // calls, but not to values.
    std::uint32_t weight = 1;
    // The program's processor time that the sample stands for. Its instructions share it evenly.
    double time_ns = 0;
    // Where the first thread was, if that was in the program's own code.
    std::optional<GuestAddress> began_at = {};
    // The number of instructions that the sample is likely to count; 0: unknown. If the sample is
    // folded in parts because it does not fit in memory, this determines each part's share of the
    // time.
    std::uint64_t expected_instructions = 0;
    // The sample in the timeline of the run; 0: it is in none.
    std::uint64_t number = 0;
    // If set, edges, paths and calls count only in bursts, whose random choices depend on `seed`.
    // Stacks, instructions and values are not affected.
    const BurstPlan* bursts = nullptr;
    std::uint64_t seed = 0;
};

struct BatchResult {
    std::uint64_t instructions = 0;  // counted instructions of the batch
    // The trace holds what no emulator writes. The sample counts up to that place; the rest is
    // ignored.
    bool damaged = false;
};

// Takes samples one after the other. All functions but add_to() must be called from one thread at a
// time.
class SampleCollector {
  public:
    // `registry` and `totals` are shared and must outlive it.
    SampleCollector(BlockRegistry& registry, SharedTotals& totals, const CollectorOptions& options);

    // The worker was replaced, so ids come from another emulator from now on. Not within a sample.
    void new_emulator();

    // A sample consists of begin() with the stack of the first thread, its batches, and end(). The
    // batches of each thread come in the order of execution. Other threads are numbered from 1 on
    // and begin with begin_thread(), or else with their first batch and without a stack. The oldest
    // record of a batch is its last. Batches may end anywhere, even inside a record; this affects
    // only the random choices of hotlists that are not exact. Blocks and values count whatever
    // level they were traced at. A record that is incomplete at the end does not count. `table`
    // must know the blocks of the batch.
    void begin(const SampleStart& start);
    void begin_thread(std::uint32_t thread, std::span<const GuestAddress> stack);
    BatchResult add(std::uint32_t thread, std::span<const std::uint64_t> batch,
                    const BlockTable& table);
    // Whether what the thread executes from now on counts; at its begin it does. What does not
    // count is still followed, so that stacks and models of caches and branches are right. The
    // thread must have begun.
    void set_counting(std::uint32_t thread, bool counts);
    // Ends the paths of all threads here, so that a profile that is made now has all that was
    // executed.
    void cut_paths();
    // Takes what a probe saw before the thread's next record, if that record begins at the same
    // instruction, or the call of an allocator there (allocation_note), or what is noted of a
    // system call after the last record (system_call_note and the like), of the functions of
    // scripts (script_frame_note and the like), or of the stack pointer (stack_change_note and the
    // like). `record` is hostile.
    void add_probed(const ProbeRecord& record);
    BatchResult add(std::span<const std::uint64_t> batch, const BlockTable& table) {
        return add(0, batch, table);
    }
    void end();

    // The block vector of the last sample. Needs that none has begun since.
    const BlockVector& block_vector() const { return block_vector_; }

    // Moves all counts to the shared totals' batch, and adds values to `values` and results from
    // references to `references`.
    void add_to(ValueTotals& values, ReferenceTotals& references);
    // Adds the system calls that were noted so far.
    void add_to(SystemCallTotals& calls);
    // Adds the calls of allocators that were noted so far.
    void add_to(AllocationTotals& allocations);
    // Adds the branches so far.
    void add_to(BranchTotals& branches);
    // Adds what calls have cost so far.
    void add_to(CallCostTotals& costs);
    // The results of the probes so far, in the order of the probes.
    std::vector<ProbeProfile> probed();

  private:
    // The state of a thread while another one is followed.
    struct Thread {
        bool begun = false;
        bool counts = true;
        bool has_executed = false;
        RecordFollower::Position place = {};
        std::uint64_t skip_instructions = 0;
        std::vector<BlockToken> skipped;  // the last skipped blocks, not consumed yet
        std::optional<BurstFollower> bursts = {};
        std::vector<ProbeRecord> probed = {};  // seen before the next record
    };

    void count_events(EventKinds kinds);
    void start_thread(std::uint32_t thread, std::span<const GuestAddress> stack);
    void start_at(std::uint32_t thread, std::span<const CodeLocation> stack);
    void turn_to(std::uint32_t thread);
    bool looks_at_records() const { return branches_ || call_costs_ || stacks_; }
    std::vector<CodeLocation> callers(std::size_t most);
    bool counts() const { return threads_[current_].counts; }
    void apply_weight();
    void count_instructions(std::uint64_t followed) {
        if (!counts()) return;
        instructions_ += followed;
        if (new_records_) new_records_->pass_instructions(followed);
    }
    void follow();
    void follow_between_bursts(BurstFollower& bursts);
    template <typename Limit>
    void follow_up_to(Limit& limit);
    template <typename Limit>
    void follow_plain(Limit& limit);
    template <typename Records, typename Limit>
    void follow_records(Records& records, Limit& limit);
    void look_at(std::span<const BlockToken> record, std::uint64_t random);
    void look_through(std::span<const std::uint32_t> records);
    void take(const TraceRecord& record);
    void take_in_bursts(BurstFollower& bursts, const TraceRecord& record);
    void note_traced(std::uint64_t events);
    void skip(std::span<const BlockToken> blocks);
    void add_system_call(const ProbeRecord& record);
    void add_call_result(const ProbeRecord& record);
    void take_script_note(const ProbeRecord& record);
    void begin_in_scripts();
    StackTree& contexts() { return stacks_ ? stacks_->stacks() : graph_.stacks(); }
    void change_scripts(const ProbeRecord& record);
    ContextId current_context();
    bool has_stack_note() const {
        return stack_changes_.changes_behind(current_) || stack_changes_.changes_before(current_);
    }
    void change_stack_before(const TraceRecord& next);
    StackChanges::Followers followers();
    void go_on_in(ContextId context);
    void settle_probed(const TraceRecord& next, std::optional<RecordFollower::Position> place);
    void take_allocation(const ProbeRecord& note, CodeLocation function, BlockToken entry);
    double time_of_part_ns() const;
    void note_executed();
    enum class Part : std::uint8_t { goes_on, last };
    void fold(double time_ns, Part part);
    void hold(Part part);
    enum class Stacks : std::uint8_t { stay, leave };
    void empty_graph(Stacks stacks);
    void clear_graph(std::span<PathGraph::NodeId> nodes);
    void leave_stacks(std::span<const std::uint32_t> begun, std::span<PathGraph::NodeId> nodes,
                      std::span<const std::vector<BlockToken>> pending);
    void forget_records();

    std::mutex mutex_;
    SharedTotals& totals_;
    BlockView blocks_;
    ValueBank bank_;
    std::optional<ReferenceCollector> references_;
    ProbeTotals probes_;
    const bool counts_system_calls_;
    SystemCallTotals system_calls_;
    CallsInProgress calls_in_progress_;
    std::optional<AllocationCollector> allocations_;
    std::optional<BranchCollector> branches_;
    std::optional<CallCostCollector> call_costs_;
    TraceReader reader_;
    std::optional<ScriptFrames> scripts_;
    StackChanges stack_changes_;
    std::optional<StackCollector> stacks_;  // none: the graph counts contexts
    PathGraph graph_;
    std::optional<NewRecords> new_records_;  // none: stacks stay where they are counted
    const bool needs_places_;                // before each record
    const bool keeps_callers_;               // contexts have callers
    RecordFollower follower_;
    RecordCallers callers_;
    std::optional<BurstPlan> bursts_;  // this sample's
    std::uint64_t seed_ = 0;           // seed of the bursts
    BurstSink burst_sink_;
    BurstCounts traced_;                            // this sample's `values` and `references`
    TraceLevel traced_level_ = TraceLevel::blocks;  // level of this sample's last record that
                                                    // counts
    std::vector<Thread> threads_;
    std::uint32_t current_ = 0;  // the thread that reader and follower are at
    AddressResolver* resolver_ = nullptr;
    std::uint64_t skip_instructions_ = 0;      // skipped at the beginning of each thread
    std::uint32_t weight_ = 1;                 // this sample's
    std::uint64_t number_ = 0;                 // SampleStart::number of this sample
    std::uint64_t instructions_ = 0;           // this sample's
    std::uint64_t noted_instructions_ = 0;     // the part of instructions_ that is in unfolded_
    FlowTotals::Batch unfolded_;               // one or several samples
    std::uint64_t expected_instructions_ = 0;  // this sample's
    std::optional<CodeLocation> began_at_;     // SampleStart::began_at of this sample
    bool is_first_part_ = true;                // the next part to fold is the sample's first
    double time_ns_ = 0;                       // time that the sample stands for
    double time_left_ns_ = 0;                  // the part of time_ns_ that is not folded
    RecordSampling looks_;
    BlockVector block_vector_;  // this sample's
    const bool are_samples_;
    bool in_sample_ = false;
};

}  // namespace shadowprof
