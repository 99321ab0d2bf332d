// The collector of control flow: splits the stream of executed blocks into interprocedural paths
// and counts which path followed which, in which calling context. Edges, paths, calls and stacks
// are derived from these counts, exactly, so that none of them costs anything per block.
//
// A visit is (calling context, path): its node knows in which contexts the path's instructions
// execute and in which its last block does. A link counts how often one visit followed another. The
// hot loop guesses the next link: the one last used here, then one remembered by the next few
// blocks. It compares all of the path's blocks with the stream, so no guess or hash can miscount
// anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/block_registry.h"
#include "profile/flow.h"
#include "profile/index_table.h"
#include "profile/stack_tree.h"

namespace shadowprof {

class FlowTotals;

// What one thread knows of canonical blocks without asking the registry.
class BlockView {
  public:
    explicit BlockView(const BlockRegistry& registry) : registry_(registry) { reserve(0); }

    // Fetches a block, if it is not here yet.
    void learn(BlockToken token);
    // These need tokens that were learned.
    const CanonicalBlock& operator[](BlockToken token) const { return blocks_[token]; }
    std::uint64_t start(BlockToken token) const { return bounds_[token].start; }
    // A block that starts here or below and is executed next was reached by a backward branch.
    std::uint64_t backward_limit(BlockToken token) const { return bounds_[token].backward_limit; }

  private:
    void reserve(BlockToken token);

    const BlockRegistry& registry_;
    // Guest addresses, apart from the rest because the hot loop reads only these.
    struct Bounds {
        std::uint64_t start = ~std::uint64_t{0};
        std::uint64_t backward_limit = 0;
    };
    std::vector<Bounds> bounds_;
    std::vector<CanonicalBlock> blocks_;
};

class PathGraph {
  public:
    // Tokens behind the end of a stream that advance() may read, of any value.
    static constexpr std::size_t slack_tokens = 8;

    explicit PathGraph(const BlockView& blocks);

    // A sample starts with this stack, innermost first (program counter, return addresses).
    void start(std::span<const CodeLocation> stack);
    // Follows calls and returns for the first blocks of a sample without counting them: reduces
    // `instructions` by those of the blocks it consumes, until it is 0. Returns how many blocks;
    // always leaves one. Needs start(), and nothing counted since.
    std::size_t skip(std::span<const BlockToken> stream, std::uint64_t& instructions);
    // Consumes the leading paths of `stream` that certainly end in it and returns how many tokens
    // that were; the caller offers the others again, with more behind them. Stops early when
    // full(). Needs `slack_tokens` readable tokens behind the stream, and all tokens learned.
    std::size_t advance(std::span<const BlockToken> stream);
    // The sample ends, and its last path with it. `rest` is what advance() left when it was not
    // full().
    void finish(std::span<const BlockToken> rest);

    // Instructions consumed since the last start().
    std::uint64_t instructions() const { return instructions_; }
    // The graph has grown to its limit: fold_into() and clear() before going on.
    bool full() const;

    // Adds all counts to `totals` and sets them to zero.
    void fold_into(FlowTotals& totals);
    // Forgets everything except where the sample stands. Needs counts that were folded.
    void clear();

  private:
    using NodeId = std::uint32_t;
    using LinkId = std::uint32_t;
    using PathId = std::uint32_t;

    struct PathInfo {
        std::uint32_t offset = 0;  // in tokens_
        std::uint32_t length = 0;
        std::uint64_t instructions = 0;
    };
    // The instructions of a path that execute in one context.
    struct Part {
        ContextId context;
        std::uint32_t instructions;
    };
    struct Node {
        std::uint32_t likely = 0;  // the link used last; 0 if none
        PathId path = 0;
        ContextId context = 0;       // of the first block
        ContextId last_context = 0;  // of the last block
        std::uint32_t first_part = 0;
        std::uint32_t parts = 0;
        std::uint32_t mismatches = 0;  // of returns inside the path
        std::uint64_t ends = 0;        // samples that ended here
    };
    struct Link {
        std::uint64_t count = 0;
        std::uint64_t backward_limit =
            0;                     // the path has ended if the next block starts here or below
        std::uint32_t offset = 0;  // of the path of `to` in tokens_
        std::uint32_t length = 0;
        NodeId to = 0;
        std::uint32_t instructions = 0;
        NodeId from = 0;
        std::uint32_t mismatch = 0;
    };

    void reset_tables();
    bool follows(const Link& link, const BlockToken* stream) const;
    LinkId& guess(NodeId current, const BlockToken* stream);
    LinkId next_link(NodeId current, const BlockToken* stream, std::size_t size);
    std::size_t take_known(const BlockToken* stream, std::size_t size);
    std::size_t path_end(std::span<const BlockToken> stream) const;
    void take(std::span<const BlockToken> path);

    PathId path_id(std::span<const BlockToken> path);
    LinkId link_id(NodeId from, PathId path);
    LinkId add_link(NodeId from, PathId path);
    NodeId node_id(ContextId context, PathId path);
    void trace_contexts(Node& node);
    std::span<const BlockToken> tokens_of(const PathInfo& path) const;

    const BlockView& blocks_;
    StackTree stacks_;
    std::vector<BlockToken> tokens_;
    std::vector<PathInfo> paths_;
    std::vector<Part> parts_;
    std::vector<Node> nodes_;
    std::vector<Link> links_;
    IndexTable path_index_;
    IndexTable node_index_;
    IndexTable link_index_;
    std::vector<LinkId> guesses_;  // by hash of the current node and the next blocks

    NodeId current_ = 0;  // the visit that was consumed last
    std::uint64_t instructions_ = 0;
};

}  // namespace shadowprof
