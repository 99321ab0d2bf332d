// Paths and their counts, in bounded space: where there are too many, the coldest are given up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/block_registry.h"
#include "profile/index_table.h"

namespace shadowprof {

class PathStore {
  public:
    // Keeps at most `max_paths` paths, at least 2.
    explicit PathStore(std::size_t max_paths);

    void add(std::span<const BlockToken> path, std::uint64_t count);

    std::size_t size() const { return paths_.size(); }
    // Needs `index` < size().
    std::span<const BlockToken> blocks(std::size_t index) const;
    std::uint64_t count(std::size_t index) const { return paths_[index].count; }
    // Executions of paths that were given up. A path that comes back starts from zero.
    std::uint64_t given_up() const { return given_up_; }

  private:
    struct Entry {
        std::size_t offset = 0;
        std::size_t length = 0;
        std::uint64_t count = 0;
    };

    void give_up_coldest();
    void append(std::span<const BlockToken> path, std::uint64_t hash, std::uint64_t count);

    std::size_t max_paths_;
    std::vector<BlockToken> tokens_;
    std::vector<Entry> paths_;
    IndexTable index_;
    std::uint64_t given_up_ = 0;
};

// A hash of a sequence of blocks, of 64 good bits.
std::uint64_t path_hash(std::span<const BlockToken> path);

}  // namespace shadowprof
