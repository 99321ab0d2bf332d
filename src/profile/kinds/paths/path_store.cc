#include "profile/kinds/paths/path_store.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "profile/code/block_view.h"
#include "profile/merge/join.h"
#include "profile/profile_size.h"

namespace shadowprof {

std::uint64_t path_hash(std::span<const BlockToken> path) {
    std::uint64_t hash = path.size();
    for (BlockToken token : path) hash = (std::rotl(hash, 23) ^ token) * 0x9e3779b97f4a7c15;
    return mix64(hash);
}

PathStore::PathStore(Limits limits)
    : limits_{.paths = std::max<std::size_t>(limits.paths, 2),
              .blocks = std::max(limits.blocks, 2 * max_path_blocks),
              .listed_bytes = limits.listed_bytes} {}

std::span<const BlockToken> PathStore::blocks(std::size_t index) const {
    return std::span(tokens_).subspan(paths_[index].offset, paths_[index].length);
}

std::uint64_t PathStore::count(std::span<const BlockToken> path) const {
    const auto found = find(path, path_hash(path));
    return found ? counts_.count(*found) : 0;
}

// The paths that are listed.
std::vector<std::uint32_t> PathStore::hottest() const {
    std::vector<std::uint32_t> paths(size());
    std::iota(paths.begin(), paths.end(), 0);
    const auto is_hotter = [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(counts_.count(b), a) < std::pair(counts_.count(a), b);
    };
    const std::uint64_t most = limits_.listed_bytes / path_file_bytes(1);
    if (most < paths.size()) {
        const auto end = paths.begin() + static_cast<std::ptrdiff_t>(most);
        std::nth_element(paths.begin(), end, paths.end(), is_hotter);
        paths.erase(end, paths.end());
    }
    std::ranges::sort(paths, is_hotter);
    std::uint64_t bytes = 0;
    const auto first = std::ranges::find_if(paths, [&](std::uint32_t path) {
        return (bytes += path_file_bytes(blocks(path).size())) > limits_.listed_bytes;
    });
    paths.erase(first, paths.end());
    return paths;
}

void PathStore::fill(Profile& profile, const BlockRegistry& registry, const CountScale& scale,
                     const BatchSizes* sizes) const {
    const auto listed = hottest();
    auto& paths = profile.paths;
    paths.clear();
    paths.reserve(listed.size());
    BlockView view(registry);
    std::uint64_t executions = given_up_;
    for (std::uint32_t i = 0; i < size(); ++i) executions += counts_.count(i);
    for (const auto i : listed) {
        Path path{.blocks = {}, .count = counts_.count(i)};
        executions -= path.count;
        if (sizes) path.error = scale.error(counts_.error(i, *sizes));
        path.blocks.reserve(blocks(i).size());
        for (const BlockToken token : blocks(i)) {
            view.learn(token);
            path.blocks.push_back(view[token].start);
            path.instructions += view[token].instructions;
        }
        paths.push_back(std::move(path));
    }
    join_and_sort(paths);
    for (Path& path : paths) path.count = scale(path.count);
    auto& counters = profile.sampling.counters;
    counters["paths_given_up"] = scale(executions);
    counters["paths_left_out"] = paths_given_up_ + (size() - listed.size());
}

std::optional<std::uint32_t> PathStore::find(std::span<const BlockToken> path,
                                             std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t i) { return std::ranges::equal(blocks(i), path); });
}

std::uint32_t PathStore::index(std::span<const BlockToken> path, Handle& place) {
    if (place.generation != generation_) {
        const auto index = find_or_add(path);
        place = {index, generation_};
    }
    return place.index;
}

std::uint32_t PathStore::find_or_add(std::span<const BlockToken> path) {
    const std::uint64_t hash = path_hash(path);
    if (const auto found = find(path, hash)) return *found;
    while (paths_.size() == limits_.paths || tokens_.size() + path.size() > limits_.blocks)
        give_up_coldest();
    append(path, hash);
    counts_.resize(paths_.size());
    return static_cast<std::uint32_t>(paths_.size() - 1);
}

void PathStore::append(std::span<const BlockToken> path, std::uint64_t hash) {
    index_.insert(hash, paths_.size());
    paths_.push_back({tokens_.size(), path.size()});
    tokens_.insert(tokens_.end(), path.begin(), path.end());
}

// Keeps the hotter half.
void PathStore::give_up_coldest() {
    ++generation_;
    const std::vector<Entry> old = std::move(paths_);
    const std::vector<BlockToken> old_tokens = std::move(tokens_);
    std::vector<std::uint32_t> by_heat(old.size());
    std::iota(by_heat.begin(), by_heat.end(), 0);
    const auto kept = by_heat.begin() + static_cast<std::ptrdiff_t>(old.size() / 2);
    std::nth_element(by_heat.begin(), kept, by_heat.end(), [&](std::uint32_t a, std::uint32_t b) {
        return counts_.count(a) > counts_.count(b);
    });
    for (auto index = kept; index != by_heat.end(); ++index) given_up_ += counts_.count(*index);
    paths_given_up_ += old.size() / 2 + old.size() % 2;
    by_heat.erase(kept, by_heat.end());
    counts_.keep(by_heat);
    paths_.clear();
    tokens_.clear();
    index_.clear();
    for (const auto index : by_heat) {
        const auto path = std::span(old_tokens).subspan(old[index].offset, old[index].length);
        append(path, path_hash(path));
    }
}

}  // namespace shadowprof
