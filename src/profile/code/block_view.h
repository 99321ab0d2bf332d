// Access to canonical blocks without a lock.
#pragma once

#include <vector>

#include "profile/code/block_registry.h"

namespace shadowprof {

// One thread's copy of canonical blocks from the registry.
class BlockView {
  public:
    explicit BlockView(const BlockRegistry& registry) : registry_(registry) { reserve(0); }

    // Fetches the block if it is not here yet.
    void learn(BlockToken token);
    // Needs a token that was learned.
    const CanonicalBlock& operator[](BlockToken token) const { return blocks_[token]; }

  private:
    void reserve(BlockToken token);

    const BlockRegistry& registry_;
    std::vector<CanonicalBlock> blocks_;
};

}  // namespace shadowprof
