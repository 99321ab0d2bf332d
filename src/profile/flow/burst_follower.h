// Counts edges, calls and paths in bursts, block by block. Outside of bursts, RecordFollower is
// fast enough to count everything for the stacks, and it knows how many events each record makes.
//
// Steps (edges and calls) count if they are made while their kind is on. A path counts if it begins
// while paths are on. It is then followed to its end, however long that takes, as otherwise long
// paths would be seen too seldom. Paths begin and end where they would without bursts.
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

// The weighted counts made in bursts, each kind by itself. Batches are those of the totals.
class BurstTotals {
  public:
    StepTotals edges, calls;
    PathStore paths;
    BurstCounts counts;  // not weighted

    // `registry` must outlive it.
    BurstTotals(const BlockRegistry& registry, const FlowLimits& limits)
        : edges(registry, limits.steps),
          calls(registry, limits.steps),
          paths({limits.paths, limits.path_blocks, limits.path_bytes}),
          registry_(registry) {}

    // See FlowTotals. The weight counted in bursts is part of `weighted`.
    void end_batch(std::uint64_t weighted);
    void begin_phase();

    // Errors: ErrorCode::invalid if anything was counted more often than `all` has it.
    Result<void> check(const FlowTotals& all) const;
    // Sets the profile's edges, paths and calls, hottest first, scaled like `all`, with errors from
    // these batches. Must be called between batches.
    void fill(Profile& profile, const FlowTotals& all, ErrorsOf errors = ErrorsOf::all) const;

  private:
    const BlockRegistry& registry_;
};

// What one collector has counted and not added to the totals yet.
class BurstSink {
  public:
    // From now on everything but BurstCounts counts `weight` times.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    void add_edge(BlockToken from, BlockToken to) { add(edges_, from, to); }
    void add_call(BlockToken from, BlockToken to) { add(calls_, from, to); }
    void add_path(std::span<const BlockToken> path) {
        PathStore::Handle unknown;
        paths_.add(path, unknown, weight_);
    }
    void add_counts(const BurstCounts& counts) { counts_.add(counts); }

    // Whether fold_into() is due.
    bool full() const;
    // Moves everything to `totals`.
    void fold_into(BurstTotals& totals);

  private:
    static constexpr std::size_t many = 1 << 16;
    void add(CountTable& steps, BlockToken from, BlockToken to) {
        const auto key = static_cast<std::uint64_t>(from) << 32 | to;
        steps.add(*steps.find_or_add(~std::size_t{0}, key), weight_);
    }

    CountTable edges_, calls_;
    PathStore paths_{{.paths = 2 * many, .blocks = 2 * many * max_path_blocks}};
    BurstCounts counts_;
    std::uint64_t weight_ = 1;
};

// One thread of a sample.
class BurstFollower {
  public:
    BurstFollower(const BurstPlan& plan, std::uint64_t seed) : plan_(plan), bursts_(plan, seed) {}

    // While is_quiet(), up to quiet_events() events may be passed by pass() instead of take().
    // Nothing is counted meanwhile.
    bool is_quiet() const { return !in_path_ && !bursts_.any_on(); }
    std::uint64_t quiet_events() const { return bursts_.quiet_events(); }
    void pass(std::uint64_t events) { bursts_.pass(events); }

    // Where the thread stands before some blocks: the last block executed (0: none), and how many
    // blocks its path has so far.
    struct Before {
        BlockToken last = 0;
        std::size_t path_blocks = 0;
    };
    // Takes blocks that were executed.
    void take(Before before, std::span<const BlockToken> blocks, const BlockView& view,
              BurstSink& sink);
    // Ends the thread's sample, and a path with it.
    void finish(BurstSink& sink);

  private:
    void step(BlockToken from, BlockToken to, const BlockView& view, BurstSink& sink);
    void begin_path(BurstSink& sink);

    BurstPlan plan_;
    EventBursts bursts_;
    std::vector<BlockToken> path_;  // the path that is being counted
    bool in_path_ = false;
};

}  // namespace shadowprof
