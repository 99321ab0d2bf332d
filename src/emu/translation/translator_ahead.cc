// Translates ahead of need: the code that executed code leads to, before control gets there.
#include <algorithm>

#include "emu/translation/translator.h"

namespace shadowprof {

bool Translator::translate_ahead(std::span<const GuestAddress> roots, BurstLevels bursts,
                                 const std::function<bool()>& goes_on) {
    put_first(roots, bursts);
    while (!ahead_.queue.empty()) {
        if (!goes_on()) return true;
        if (is_filled_ahead()) {
            ahead_.queue.clear();
            return false;
        }
        const auto next = ahead_.queue.front();
        ahead_.queue.pop_front();
        if (lookup(next.level, next.start) || !is_constant(next.start)) continue;
        const auto* before = cache_.open().position();
        const auto* block = translate(next.level, next.start, next.indirect);
        ahead_.code_bytes += static_cast<std::size_t>(cache_.open().position() - before);
        if (block && block->indirect_entry)
            cache_.indirect_targets().set(next.level, next.start, block->indirect_entry);
        const auto found = take_neighbours({});
        ahead_.queue.insert(ahead_.queue.end(), found.begin(), found.end());
    }
    return false;
}

// Roots, where threads were seen, come first; then neighbours of code that ran since the last call.
void Translator::put_first(std::span<const GuestAddress> roots, BurstLevels bursts) {
    auto first = take_neighbours(bursts);
    ahead_.queue.insert(ahead_.queue.begin(), first.begin(), first.end());
    first.clear();
    const auto add_roots = [&](TraceLevel level) {
        for (const auto root : roots) first.push_back({root, level, true});
    };
    add_roots(TraceLevel::blocks);
    if (bursts.values) add_roots(TraceLevel::values);
    if (bursts.references) add_roots(TraceLevel::references);
    ahead_.queue.insert(ahead_.queue.begin(), first.begin(), first.end());
}

// Successors of the blocks that were translated since the last call. `ran`: levels at which the
// blocks will be needed too, as they were executed.
std::vector<Translator::AheadStart> Translator::take_neighbours(BurstLevels ran) {
    std::vector<AheadStart> found;
    const auto add = [&](GuestAddress start, TraceLevel level, bool indirect) {
        if (level != TraceLevel::none && !lookup(level, start))
            found.push_back({start, level, indirect});
    };
    for (auto i = std::min(ahead_.exits, exits_.size()); i < exits_.size(); ++i)
        add(exits_[i].target, exits_[i].level, false);
    for (auto i = std::min(ahead_.blocks, blocks_.size()); i < blocks_.size(); ++i) {
        const auto& row = tables_[blocks_[i].id];
        const auto level = blocks_[i].level;
        // Calls return.
        if (is_call(row.terminator)) add(row.end, level, true);
        if (row.terminator == Terminator::syscall) add(row.end, level, false);
        if (level != TraceLevel::blocks) continue;
        if (ran.values) add(row.start, TraceLevel::values, false);
        if (ran.references) add(row.start, TraceLevel::references, false);
    }
    ahead_.exits = exits_.size();
    ahead_.blocks = blocks_.size();
    return found;
}

// Code that is never needed must leave room for code that is.
bool Translator::is_filled_ahead() const {
    return ahead_.code_bytes > cache_.code_size_bytes() / max_ahead_share ||
           cache_.open().room_bytes() < cache_.code_size_bytes() / 2 ||
           tables_.is_filled(1.0 / max_ahead_share);
}

// Whether nobody can write to the code and its file identifies it.
bool Translator::is_constant(GuestAddress address) {
    const auto page = address.page();
    if (ahead_.constant_page == page) return true;
    if (file_identity(page) == 0) return false;
    ahead_.constant_page = page;
    return true;
}

}  // namespace shadowprof
