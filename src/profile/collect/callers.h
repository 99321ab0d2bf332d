// Finds the calls that were in progress where a value was produced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/collect/record_follower.h"
#include "profile/kinds/paths/path_graph.h"

namespace shadowprof {

// Numbers a stack of callers within one table.
using CallerId = std::uint32_t;
inline constexpr CallerId no_caller = 0;

// Stacks of call sites, innermost first.
class CallerTable {
  public:
    CallerTable() : stacks_(1) {}

    // Returns `no_caller` for an empty stack.
    CallerId id(const std::vector<CodeLocation>& callers);
    const std::vector<CodeLocation>& operator[](CallerId id) const { return stacks_[id]; }

  private:
    std::vector<std::vector<CodeLocation>> stacks_;
    IndexTable index_;
};

// Finds the callers of a record's blocks from where its thread stood before it. Each record at each
// place is looked up once.
class RecordCallers {
  public:
    // Keeps up to `frames` innermost callers. The graph and the follower must outlive this.
    RecordCallers(PathGraph& graph, const RecordFollower& follower, std::size_t frames)
        : graph_(graph), follower_(follower), frames_(frames) {}

    // Names the callers of each block of a record. Records whose blocks have the same callers have
    // the same list. Valid until forget().
    using List = std::uint32_t;
    List find(RecordFollower::Position before, std::uint32_t record,
              std::span<const BlockToken> blocks);
    CallerId caller(List list, std::size_t block) const { return callers_[list + block]; }

    // Must be called when the follower or the graph forgets.
    void forget();
    const CallerTable& table() const { return table_; }

  private:
    struct Known {
        RecordFollower::Position before;
        std::uint32_t record = 0;
        List list = 0;
    };
    struct Extent {
        List first = 0;
        std::uint32_t blocks = 0;
    };
    static constexpr CallerId not_known = ~CallerId{0};

    List find_list(RecordFollower::Position before, std::span<const BlockToken> blocks);
    CallerId caller_in(ContextId context);

    PathGraph& graph_;
    const RecordFollower& follower_;
    std::size_t frames_;
    CallerTable table_;
    std::vector<Known> known_;
    IndexTable known_index_;
    std::vector<CallerId> callers_;  // lists, one after the other
    std::vector<Extent> lists_;
    IndexTable list_index_;
    std::vector<CallerId> by_context_;
    std::vector<ContextId> contexts_;  // scratch
};

}  // namespace shadowprof
