// The collector of control flow. It splits the stream of executed blocks into interprocedural paths
// and counts which path followed which, in which calling context. Edges, paths, calls and stacks
// are derived from these counts, exactly, so that none of them costs anything per block.
//
// A visit is a pair of a calling context and a path. Its node knows in which contexts the path's
// instructions execute and in which its last block does. A link counts how often one visit followed
// another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/code/block_view.h"
#include "profile/code/index_table.h"
#include "profile/flow/flow.h"
#include "profile/flow/flow_totals.h"
#include "profile/flow/touched_sums.h"
#include "profile/kinds/paths/single_paths.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof {

class PathGraph {
  public:
    using NodeId = std::uint32_t;
    using LinkId = std::uint32_t;

    // See StackTree for `keeps_callers`.
    explicit PathGraph(const BlockView& blocks, bool keeps_callers = true);

    const BlockView& blocks() const { return blocks_; }
    // Returns the node where a sample with this stack starts. The stack is innermost first: program
    // counter, then return addresses.
    NodeId start(std::span<const CodeLocation> stack);
    // The node reached and the number of blocks consumed.
    struct Followed {
        NodeId node = 0;
        std::size_t blocks = 0;
    };
    // Follows calls and returns of the first blocks of a sample without counting them. Subtracts
    // the instructions of consumed blocks from `instructions` until it is 0. Always leaves one
    // block.
    Followed skip(NodeId from, std::span<const BlockToken> stream, std::uint64_t& instructions);
    // Consumes the leading paths of `stream` that certainly end in it, and appends the links taken.
    // Counts nothing. Needs tokens that were learned. The first `open` blocks are known to end no
    // path.
    Followed follow(NodeId from, std::span<const BlockToken> stream, std::size_t open,
                    std::vector<LinkId>& taken);
    // Does the same and counts the paths `times` times. A path that is met for the first time makes
    // no link.
    Followed follow_and_count(NodeId from, std::span<const BlockToken> stream, std::size_t open,
                              std::uint64_t times);
    void count(LinkId link, std::uint64_t times) {
        if (times == 0) return;
        if (links_[link].count == 0) counted_links_.push_back(link);
        links_[link].count += times;
    }
    // Ends a sample that counts `times` times. `rest`, which follow() left, is its last path.
    void finish(NodeId at, std::span<const BlockToken> rest, std::uint64_t times);

    // Ends a path as finish() does. Returns the node where the same thread goes on as a sample that
    // begins there.
    NodeId cut(NodeId at, std::span<const BlockToken> rest, std::uint64_t times);

    // Ends a path behind `rest`, which follow() left, and counts it `times` times. Returns the node
    // where the same thread goes on in `context`.
    NodeId go_on_in(ContextId context, NodeId at, std::span<const BlockToken> rest,
                    std::uint64_t times);

    // Appends the contexts in which the blocks of `stream` execute after `from`, one for each
    // block.
    void contexts(NodeId from, std::span<const BlockToken> stream,
                  std::vector<ContextId>& contexts);
    // The context of the last block of `stream`, or of `from` if `stream` is empty.
    ContextId last_context(NodeId from, std::span<const BlockToken> stream);
    // The call sites of the innermost `most` calls in progress, innermost first.
    std::vector<CodeLocation> callers(ContextId context, std::size_t most) const {
        return stacks_.callers(context, most);
    }

    // The contexts, as far as they were met.
    const StackTree& stacks() const { return stacks_; }
    StackTree& stacks() { return stacks_; }

    // Whether the graph has grown to its limit: fold_into() and clear() are due.
    bool full() const;
    // The number of distinct paths; fold_into() adds no more than that to the totals.
    std::size_t paths() const { return paths_.size() + single_paths_.size(); }

    // Adds all counts to `totals`, which must always be the same, and sets them to zero. Takes time
    // linear in the number of counted links and nodes. Stacks get `time_ns` of the program's time.
    void fold_into(FlowTotals& totals, double time_ns = 0);
    // Forgets everything except where the threads of a sample stand, and `contexts`. Replaces each
    // element of `current` by its new node, and each context by its new number. Needs counts that
    // were folded.
    void clear(std::span<NodeId> current, std::span<ContextId* const> contexts);
    // Does the same. From now on a context is the function that executes, and fold_into() adds no
    // stacks.
    void leave_stacks(std::span<NodeId> current);
    // The last block of the node, or that behind which it goes on; 0: there is none.
    BlockToken last_block(NodeId node) const;

  private:
    void restart(std::span<NodeId> current, std::span<ContextId* const> contexts, StackTree stacks);

    using PathId = std::uint32_t;
    static constexpr NodeId no_node = ~NodeId{0};

    struct PathInfo {
        std::uint32_t offset = 0;  // in tokens_
        std::uint32_t length = 0;
    };
    // A path's instructions that execute in one context.
    struct Part {
        ContextId context;
        std::uint32_t instructions;
    };
    struct Node {
        PathId path = 0;
        BlockToken after = 0;   // without blocks: that it goes on behind this one; 0: it begins
        ContextId context = 0;  // the first block's
        ContextId last_context = 0;  // the last block's
        std::uint32_t first_part = 0;
        std::uint32_t parts = 0;
        std::uint32_t mismatches = 0;  // mismatched returns inside the path
        NodeId rest = no_node;         // see rest()
        std::uint64_t ends = 0;        // number of samples that ended here
    };
    struct Link {
        std::uint64_t count = 0;
        NodeId to = 0;
        NodeId from = 0;
        std::uint32_t mismatch = 0;
        StepTotals::StepId step = StepTotals::unknown;  // the step between the two blocks
    };

    void reset_tables();
    void fold_links(FlowTotals& totals);
    void fold_nodes(FlowTotals& totals);
    void fold_paths(FlowTotals& totals);
    std::size_t path_end(std::span<const BlockToken> stream, std::size_t open) const;
    LinkId take(NodeId from, std::span<const BlockToken> path) {
        return link_id(from, path_id(path));
    }
    template <typename Take>
    Followed take_paths(NodeId from, std::span<const BlockToken> stream, std::size_t open,
                        Take take);
    NodeId take_single(NodeId from, std::span<const BlockToken> path, std::uint64_t times);

    PathId path_id(std::span<const BlockToken> path);
    PathId add_path(std::span<const BlockToken> path, std::uint64_t hash);
    std::optional<PathId> find_path(std::span<const BlockToken> path, std::uint64_t hash) const;
    LinkId link_id(NodeId from, PathId path);
    LinkId add_link(NodeId from, PathId path);
    NodeId node_id(ContextId context, PathId path, BlockToken after = 0);
    NodeId rest(NodeId node);
    NodeId rest(ContextId context, BlockToken last);
    ContextStep first_step(NodeId from, const CanonicalBlock& first);
    void trace_contexts(Node& node);
    template <typename Visit>
    ContextId trace_contexts(ContextId context, std::span<const BlockToken> path,
                             std::uint32_t& mismatches, Visit visit);
    std::span<const BlockToken> tokens_of(const PathInfo& path) const;

    const BlockView& blocks_;
    bool counts_stacks_ = true;
    StackTree stacks_;
    SinglePaths single_paths_;
    std::uint64_t single_mismatches_ = 0;  // returns at and in single paths
    std::vector<BlockToken> tokens_;
    std::vector<PathInfo> paths_;
    std::vector<Part> parts_;
    std::vector<Node> nodes_;
    std::vector<Link> links_;
    IndexTable path_index_;
    IndexTable node_index_;
    IndexTable link_index_;

    // Places in the totals.
    std::vector<StepTotals::StepId> token_steps_;  // step to each of tokens_ from the one before
    std::vector<PathStore::Handle> path_places_;   // by path
    StackTotals::ContextMatches context_places_;   // by context
    // Links and nodes with counts, each once.
    std::vector<LinkId> counted_links_;
    std::vector<NodeId> end_nodes_;
    // Sums made while folding; zero otherwise.
    TouchedSums<NodeId> visits_;
    TouchedSums<PathId> path_counts_;
    std::vector<ContextId> contexts_;  // scratch
    TouchedSums<ContextId> context_instructions_, context_samples_;
};

}  // namespace shadowprof
