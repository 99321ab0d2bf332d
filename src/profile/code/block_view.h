// Canonical blocks without a lock.
#pragma once

#include <vector>

#include "profile/code/block_registry.h"

namespace shadowprof {

// What one thread knows of canonical blocks without asking the registry.
class BlockView {
  public:
    explicit BlockView(const BlockRegistry& registry) : registry_(registry) { reserve(0); }

    // Fetches a block, if it is not here yet.
    void learn(BlockToken token);
    // These need tokens that were learned.
    const CanonicalBlock& operator[](BlockToken token) const { return blocks_[token]; }

  private:
    void reserve(BlockToken token);

    const BlockRegistry& registry_;
    std::vector<CanonicalBlock> blocks_;
};

}  // namespace shadowprof
