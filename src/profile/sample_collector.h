// Collects the samples of one emulator: blocks go to the path graph, values to hotlists.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "emu/trace.h"
#include "profile/block_registry.h"
#include "profile/flow_totals.h"
#include "profile/module_table.h"
#include "profile/path_graph.h"
#include "profile/record_follower.h"
#include "profile/trace_reader.h"
#include "profile/value_bank.h"

namespace shadowprof {

struct CollectorOptions {
    bool values = true;      // keep the values of records that have some
    bool tnv = false;        // also by TNV tables, for comparison; slow
    std::uint64_t seed = 1;  // of the hotlists' coins
    FlowLimits limits;
};

// How a sample begins.
struct SampleStart {
    AddressResolver& resolver;  // of the sample's memory layout; needed until the sample's end
    // Innermost first: the program counter, then return addresses. May be cut short or empty.
    std::span<const GuestAddress> stack;
    // Executed before anything is counted, in whole blocks; only calls and returns are followed.
    std::uint64_t skip_instructions = 0;
};

struct BatchResult {
    std::uint64_t instructions = 0;  // of the batch's blocks that count
    // The trace holds what no emulator writes. What came before counts; the rest of the sample is
    // ignored.
    bool damaged = false;
};

// Totals that several collectors add to.
struct SharedTotals {
    std::mutex mutex;
    FlowTotals flow;
    std::uint64_t samples = 0;
    std::uint64_t damaged_samples = 0;
    std::uint64_t graphs_emptied = 0;  // because they were full

    explicit SharedTotals(const FlowLimits& limits) : flow(limits) {}
};

// Takes one sample after the other, from one thread at a time. add_to() may be called by another.
class SampleCollector {
  public:
    // `registry` and `totals` are shared and must outlive it.
    SampleCollector(BlockRegistry& registry, SharedTotals& totals, const CollectorOptions& options);

    // Ids come from another emulator from now on: the worker process was replaced. Not in a sample.
    void new_emulator();

    // A sample: begin(), its batches in the order of execution, end(). The oldest record of a batch
    // is its last. Where a trace is cut into batches, even inside a record, changes nothing but by
    // which coins hotlists that are not exact are thinned. Blocks and values count at whatever
    // level they were traced. A record that is still incomplete at the end does not count. `table`
    // must know the blocks of the batch.
    void begin(const SampleStart& start);
    BatchResult add(std::span<const std::uint64_t> batch, const BlockTable& table);
    void end();

    // Moves what was counted so far to the shared totals, and adds the values to `values`.
    void add_to(ValueTotals& values);

  private:
    void follow();
    void take(const TraceRecord& record);
    void skip(std::span<const BlockToken> blocks);
    void fold();
    void empty_graph();

    std::mutex mutex_;
    SharedTotals& totals_;
    BlockView blocks_;
    ValueBank bank_;
    TraceReader reader_;
    PathGraph graph_;
    RecordFollower follower_;
    std::vector<BlockToken> skipped_;  // the last ones, not consumed yet
    std::uint64_t skip_instructions_ = 0;
    std::uint64_t instructions_ = 0;           // of this sample
    std::uint64_t reported_instructions_ = 0;  // of this sample, by fold()
    bool in_sample_ = false;
};

}  // namespace shadowprof
