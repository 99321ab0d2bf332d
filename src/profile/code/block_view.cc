#include "profile/code/block_view.h"

#include <algorithm>

namespace shadowprof {

void BlockView::reserve(BlockToken token) {
    if (token < blocks_.size()) return;
    const std::size_t size =
        std::max<std::size_t>({token + std::size_t{1}, 2 * blocks_.size(), 64});
    blocks_.resize(size);
}

void BlockView::learn(BlockToken token) {
    reserve(token);
    if (blocks_[token].instructions != 0) return;
    blocks_[token] = registry_.block(token);
}

}  // namespace shadowprof
