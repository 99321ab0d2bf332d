// The calls and returns in blocks that are executed one after the other. They are found once, as
// far as they do not depend on the calls in progress before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/code/block_view.h"

namespace shadowprof {

struct CallStep {
    enum class What : std::uint8_t {
        call,       // `function` is called, and will return to `place`
        end_call,   // the innermost of the calls that began in these blocks returns
        return_to,  // a call that began before them returns to `place`
        enter,      // `function` executes now instead of another one
    };
    What what = What::enter;
    std::uint32_t offset = 0;  // instructions of the blocks before the step
    CodeLocation place = {}, function = {};
};

// Returns the steps between the blocks, of which there is at least one. Begins in the function of
// the first block, and names functions by their entries. Returns nothing if the calls in progress
// matter: where a block's function is not known, or a return does not fit a call that began in the
// blocks.
std::optional<std::vector<CallStep>> call_steps(std::span<const BlockToken> tokens,
                                                const BlockView& blocks);

}  // namespace shadowprof
