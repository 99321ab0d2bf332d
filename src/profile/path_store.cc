#include "profile/path_store.h"

#include <algorithm>
#include <bit>

namespace shadowprof {

std::uint64_t path_hash(std::span<const BlockToken> path) {
    std::uint64_t hash = path.size();
    for (BlockToken token : path) hash = (std::rotl(hash, 23) ^ token) * 0x9e3779b97f4a7c15;
    return mix64(hash);
}

PathStore::PathStore(std::size_t max_paths) : max_paths_(std::max<std::size_t>(max_paths, 2)) {}

std::span<const BlockToken> PathStore::blocks(std::size_t index) const {
    return std::span(tokens_).subspan(paths_[index].offset, paths_[index].length);
}

void PathStore::add(std::span<const BlockToken> path, std::uint64_t count) {
    const std::uint64_t hash = path_hash(path);
    auto found =
        index_.find(hash, [&](std::uint32_t i) { return std::ranges::equal(blocks(i), path); });
    if (found) {
        paths_[*found].count += count;
        return;
    }
    if (paths_.size() == max_paths_) give_up_coldest();
    append(path, hash, count);
}

void PathStore::append(std::span<const BlockToken> path, std::uint64_t hash, std::uint64_t count) {
    index_.insert(hash, paths_.size());
    paths_.push_back({tokens_.size(), path.size(), count});
    tokens_.insert(tokens_.end(), path.begin(), path.end());
}

// Keeps the hotter half.
void PathStore::give_up_coldest() {
    std::vector<Entry> old = std::move(paths_);
    std::vector<BlockToken> old_tokens = std::move(tokens_);
    const std::size_t kept = old.size() / 2;
    std::nth_element(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(kept), old.end(),
                     [](const Entry& a, const Entry& b) { return a.count > b.count; });
    paths_.clear();
    tokens_.clear();
    index_.clear();
    for (std::size_t i = 0; i < old.size(); ++i) {
        const auto path = std::span(old_tokens).subspan(old[i].offset, old[i].length);
        if (i < kept)
            append(path, path_hash(path), old[i].count);
        else
            given_up_ += old[i].count;
    }
}

}  // namespace shadowprof
