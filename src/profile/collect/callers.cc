#include "profile/collect/callers.h"

#include <algorithm>

#include "profile/code/index_table.h"

namespace shadowprof {

CallerId CallerTable::id(const std::vector<CodeLocation>& callers) {
    if (callers.empty()) return no_caller;
    const std::uint64_t hash = locations_hash(hash_seed(), callers);
    const auto found = index_.find(hash, [&](std::uint32_t i) { return stacks_[i] == callers; });
    if (found) return *found;
    index_.insert(hash, stacks_.size());
    stacks_.push_back(callers);
    return static_cast<CallerId>(stacks_.size() - 1);
}

RecordCallers::List RecordCallers::find(RecordFollower::Position before, std::uint32_t record,
                                        std::span<const BlockToken> blocks) {
    const auto hash = mix64(static_cast<std::uint64_t>(before) << 32 | record);
    const auto known = known_index_.find(hash, [&](std::uint32_t i) {
        return known_[i].before == before && known_[i].record == record;
    });
    if (known) return known_[*known].list;
    const List list = find_list(before, blocks);
    known_index_.insert(hash, known_.size());
    known_.push_back({before, record, list});
    return list;
}

RecordCallers::List RecordCallers::find_list(RecordFollower::Position before,
                                             std::span<const BlockToken> blocks) {
    auto stream = follower_.pending(before);
    const auto open = stream.size();
    stream.insert(stream.end(), blocks.begin(), blocks.end());
    graph_.contexts(follower_.node(before), stream, contexts_);
    const Extent added{static_cast<List>(callers_.size()),
                       static_cast<std::uint32_t>(blocks.size())};
    std::uint64_t hash = added.blocks;
    for (const ContextId context : std::span(contexts_).subspan(open)) {
        callers_.push_back(caller_in(context));
        hash = mix64(hash ^ callers_.back());
    }
    const auto list_of = [&](const Extent& list) {
        return std::span<const CallerId>(callers_).subspan(list.first, list.blocks);
    };
    const auto found = list_index_.find(hash, [&](std::uint32_t i) {
        return std::ranges::equal(list_of(lists_[i]), list_of(added));
    });
    if (found) {
        callers_.resize(added.first);
        return lists_[*found].first;
    }
    list_index_.insert(hash, lists_.size());
    lists_.push_back(added);
    return added.first;
}

CallerId RecordCallers::caller_in(ContextId context) {
    if (context >= by_context_.size())
        by_context_.resize(std::max<std::size_t>(context + 1, 2 * by_context_.size()), not_known);
    CallerId& known = by_context_[context];
    if (known == not_known) known = table_.id(graph_.callers(context, frames_));
    return known;
}

void RecordCallers::forget() {
    known_.clear();
    known_index_.clear();
    callers_.clear();
    lists_.clear();
    list_index_.clear();
    by_context_.clear();
}

}  // namespace shadowprof
