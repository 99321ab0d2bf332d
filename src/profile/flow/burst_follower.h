// Counts what happens in bursts, block by block. Outside of them RecordFollower is fast enough to
// count everything for the stacks, and knows how many events each record makes.
//
// Steps (edges and calls) count if they are made while their kind is on. A path counts if it begins
// while paths are on, and is then followed to its end, however long that takes: else long paths
// would be seen too seldom. It begins and ends where it does without bursts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/flow/event_bursts.h"
#include "profile/flow/flow_totals.h"
#include "profile/kinds/paths/path_graph.h"
#include "profile/kinds/paths/path_store.h"

namespace shadowprof {

// What was counted in bursts, weighted: of each kind for itself. Batches are those of the totals of
// all that was executed.
class BurstTotals {
  public:
    StepTotals edges, calls;
    PathStore paths;
    BurstCounts counts;  // not weighted

    // `registry` must outlive it.
    BurstTotals(const BlockRegistry& registry, const FlowLimits& limits)
        : edges(registry, limits.steps),
          calls(registry, limits.steps),
          paths(limits.paths),
          registry_(registry) {}

    // See FlowTotals; what was counted in bursts is part of `weighted`.
    void end_batch(std::uint64_t weighted);
    void begin_phase();

    // ErrorCode::invalid if more of anything was counted than `all` has.
    Result<void> check(const FlowTotals& all) const;
    // Sets the profile's edges, paths and calls, hottest first, scaled as `all`, with errors of
    // these batches. Between batches.
    void fill(Profile& profile, const FlowTotals& all, ErrorsOf errors = ErrorsOf::all) const;

  private:
    const BlockRegistry& registry_;
};

// What one collector has counted and not handed on yet.
class BurstSink {
  public:
    // From now on everything but BurstCounts counts so often.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    void add_edge(BlockToken from, BlockToken to) { add(edges_, from, to); }
    void add_call(BlockToken from, BlockToken to) { add(calls_, from, to); }
    void add_path(std::span<const BlockToken> path) {
        PathStore::Place unknown;
        paths_.add(path, unknown, weight_);
    }
    void add_counts(const BurstCounts& counts) { counts_.add(counts); }

    // fold_into() is due.
    bool full() const;
    // Adds everything to `totals`, and forgets it.
    void fold_into(BurstTotals& totals);

  private:
    static constexpr std::size_t many = 1 << 16;
    void add(CountTable& steps, BlockToken from, BlockToken to) {
        const auto key = static_cast<std::uint64_t>(from) << 32 | to;
        steps.add(*steps.find_or_add(~std::size_t{0}, key), weight_);
    }

    CountTable edges_, calls_;
    PathStore paths_{2 * many};
    BurstCounts counts_;
    std::uint64_t weight_ = 1;
};

// One thread of a sample.
class BurstFollower {
  public:
    BurstFollower(const BurstPlan& plan, std::uint64_t seed) : plan_(plan), bursts_(plan, seed) {}

    // So many events may be passed by pass() instead of take(). Nothing counts meanwhile.
    bool is_quiet() const { return !in_path_ && !bursts_.any_on(); }
    std::uint64_t quiet_events() const { return bursts_.quiet_events(); }
    void pass(std::uint64_t events) { bursts_.pass(events); }

    // Where the thread stands in front of blocks: the last one executed (0: none), and how many its
    // path has so far.
    struct Before {
        BlockToken last = 0;
        std::size_t path_blocks = 0;
    };
    // Blocks were executed.
    void take(Before before, std::span<const BlockToken> blocks, const BlockView& view,
              BurstSink& sink);
    // The thread's sample ends, and a path with it.
    void finish(BurstSink& sink);

  private:
    void step(BlockToken from, BlockToken to, const BlockView& view, BurstSink& sink);
    void begin_path(BurstSink& sink);

    BurstPlan plan_;
    EventBursts bursts_;
    std::vector<BlockToken> path_;  // that counts and is not complete
    bool in_path_ = false;
};

}  // namespace shadowprof
