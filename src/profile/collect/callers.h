// Which calls were in progress where a value was produced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/collect/record_follower.h"
#include "profile/kinds/paths/path_graph.h"

namespace shadowprof {

// Names a stack of callers within one table.
using CallerId = std::uint32_t;
inline constexpr CallerId no_caller = 0;

// Stacks of call sites, innermost first.
class CallerTable {
  public:
    CallerTable() : stacks_(1) {}

    // `no_caller` if it is empty.
    CallerId id(const std::vector<CodeLocation>& callers);
    const std::vector<CodeLocation>& operator[](CallerId id) const { return stacks_[id]; }

  private:
    std::vector<std::vector<CodeLocation>> stacks_;
    IndexTable index_;
};

// The callers of a record's blocks, which follow from where its thread stood before it. Found once
// for each record and place.
class RecordCallers {
  public:
    // So many frames outwards. The graph and the follower must outlive this.
    RecordCallers(PathGraph& graph, const RecordFollower& follower, std::size_t frames)
        : graph_(graph), follower_(follower), frames_(frames) {}

    // Names the callers of each block. Records in which these are the same have the same. Means
    // something until forget().
    using List = std::uint32_t;
    List find(RecordFollower::Place before, std::uint32_t record,
              std::span<const BlockToken> blocks);
    CallerId caller(List list, std::size_t block) const { return callers_[list + block]; }

    // Due when the follower or the graph forgets.
    void forget();
    const CallerTable& table() const { return table_; }

  private:
    struct Known {
        RecordFollower::Place before;
        std::uint32_t record = 0;
        List list = 0;
    };
    struct Extent {
        List first = 0;
        std::uint32_t blocks = 0;
    };
    static constexpr CallerId not_known = ~CallerId{0};

    List find_list(RecordFollower::Place before, std::span<const BlockToken> blocks);
    CallerId caller_in(ContextId context);

    PathGraph& graph_;
    const RecordFollower& follower_;
    std::size_t frames_;
    CallerTable table_;
    std::vector<Known> known_;
    IndexTable known_index_;
    std::vector<CallerId> callers_;  // lists behind each other
    std::vector<Extent> lists_;
    IndexTable list_index_;
    std::vector<CallerId> by_context_;
    std::vector<ContextId> contexts_;  // scratch
};

}  // namespace shadowprof
