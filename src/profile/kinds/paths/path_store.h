// Counts of paths in bounded space. If there are too many paths, the coldest ones are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/code/block_registry.h"
#include "profile/code/index_table.h"
#include "profile/flow/flow.h"
#include "profile/profile.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class PathStore {
  public:
    struct Limits {
        std::size_t paths = 0;   // at least 2
        std::size_t blocks = 0;  // of all paths together; at least those of two paths
        // The paths that fill() lists take at most so much of a file (profile_size.h).
        std::uint64_t listed_bytes = ~std::uint64_t{0};
    };
    explicit PathStore(Limits limits);

    // Where a path is kept until others are dropped.
    struct Handle {
        std::uint32_t index = 0;
        std::uint32_t generation = 0;  // 0: unknown
    };
    // `place` must be empty or as an earlier call set it for this path.
    void add(std::span<const BlockToken> path, Handle& place, std::uint64_t count) {
        counts_.add(index(path, place), count);
    }
    // Returns the index of the path, valid until others are dropped. That happens only if
    // has_room_for() does not hold.
    std::uint32_t index(std::span<const BlockToken> path, Handle& place);
    void add(std::uint32_t index, std::uint64_t count) { counts_.add(index, count); }
    bool has_room_for(std::size_t more) const {
        return more <= limits_.paths - paths_.size() &&
               more * max_path_blocks <= limits_.blocks - tokens_.size();
    }
    void end_batch(const BatchSize& size) { counts_.end_batch(size); }
    void end_stratum(const BatchSizes& sizes) { counts_.end_stratum(sizes); }
    void begin_phase() { counts_.begin_phase(); }

    std::size_t size() const { return paths_.size(); }
    // Needs `index` < size().
    std::span<const BlockToken> blocks(std::size_t index) const;
    std::uint64_t count(std::size_t index) const {
        return counts_.count(static_cast<std::uint32_t>(index));
    }
    // 0 if the path is not here.
    std::uint64_t count(std::span<const BlockToken> path) const;
    // Executions of paths that were dropped. A dropped path that is executed again starts from
    // zero.
    std::uint64_t given_up() const { return given_up_; }
    // How often a path was dropped.
    std::uint64_t paths_given_up() const { return paths_given_up_; }

    // Sets the profile's paths and their counters. As many of the hottest paths are listed as the
    // limits allow; of equally hot ones, those that were added first. Scaled, hottest first; with
    // errors unless `sizes` is null. Must be called between batches.
    void fill(Profile& profile, const BlockRegistry& registry, const CountScale& scale,
              const BatchSizes* sizes) const;

  private:
    struct Entry {
        std::size_t offset = 0;
        std::size_t length = 0;
    };

    std::vector<std::uint32_t> hottest() const;
    std::optional<std::uint32_t> find(std::span<const BlockToken> path, std::uint64_t hash) const;
    std::uint32_t find_or_add(std::span<const BlockToken> path);
    void give_up_coldest();
    void append(std::span<const BlockToken> path, std::uint64_t hash);

    Limits limits_;
    std::vector<BlockToken> tokens_;
    std::vector<Entry> paths_;
    BatchedCounts counts_;  // by index
    IndexTable index_;
    std::uint32_t generation_ = 1;
    std::uint64_t given_up_ = 0, paths_given_up_ = 0;
};

// A hash of a sequence of blocks, of 64 good bits.
std::uint64_t path_hash(std::span<const BlockToken> path);

}  // namespace shadowprof
