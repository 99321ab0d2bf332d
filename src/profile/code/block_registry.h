// Maps block ids to canonical blocks, which depend neither on the worker process nor on the
// addresses at which the run loaded its modules, and numbers the sites whose values are profiled.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>

#include "base/guest_address.h"
#include "emu/trace/trace.h"
#include "profile/code/function_finder.h"
#include "profile/code/index_table.h"
#include "profile/code/module_table.h"
#include "profile/profile.h"

namespace shadowprof {

// Names a canonical block. 0 names none.
using BlockToken = std::uint32_t;
// Names a value site.
using SiteId = std::uint32_t;

// A basic block as profiles see it.
struct CanonicalBlock {
    CodeLocation start;  // first instruction
    CodeLocation last;   // last instruction: the branch, if there is one
    CodeLocation end;    // the fall-through successor
    // Addresses where the block lay when it was first seen. They tell the direction of branches,
    // also between modules.
    GuestAddress guest_start;
    GuestAddress guest_last;
    GuestAddress guest_target;  // target of a direct branch or call, else 0
    std::uint32_t instructions = 0;
    Terminator terminator = Terminator::none;
    std::optional<FoundFunction> function = {};  // the function that `start` is in, if it is known
};

// One destination operand of one static instruction.
struct ValueSite {
    CodeLocation at;
    std::uint16_t reg = 0;  // ZydisRegister
    std::uint8_t width_bytes = 0;
    ValueType type = {};  // canonical type

    friend bool operator==(const ValueSite&, const ValueSite&) = default;
};

// Returns false for a row that no emulator writes. Needs a private copy, as the original may change
// meanwhile.
bool is_plausible(const BlockInfo& block);
// The same for a slot of `block`. The slots `before` it are plausible.
bool is_plausible(const ValueSlot& slot, std::span<const ValueSlot> before, const BlockInfo& block);
bool is_plausible(const ReferenceSlot& slot, std::span<const ReferenceSlot> before,
                  const BlockInfo& block);

// Thread-safe. Blocks and sites are added and never change.
class BlockRegistry {
  public:
    // Limits above what programs have, below what would exhaust memory.
    static constexpr std::size_t max_blocks = 1 << 23;
    static constexpr std::size_t max_sites = 1 << 21;
    using FindFunction = std::function<std::optional<FoundFunction>(CodeLocation)>;

    // `find_function` is called once for each block. Without it no function is known.
    explicit BlockRegistry(FindFunction find_function = {})
        : find_function_(std::move(find_function)) {}

    // Returns the token of a block. Blocks at the same place with the same content are the same
    // block, whichever worker and process they come from. Needs a plausible block. Returns nothing
    // if there are too many blocks.
    std::optional<BlockToken> token(const BlockInfo& block, AddressResolver& resolver);
    // Returns a copy of the block. Needs a token that this registry gave.
    CanonicalBlock block(BlockToken token) const;
    // The number of tokens, which run from 1 to it.
    std::size_t blocks() const;

    // Returns the number of a site; nothing if there are too many.
    std::optional<SiteId> site_id(const ValueSite& site);
    ValueSite site(SiteId id) const;

  private:
    const FindFunction find_function_;
    mutable std::mutex mutex_;
    std::deque<CanonicalBlock> blocks_;
    std::deque<ValueSite> sites_;
    IndexTable block_index_;
    IndexTable site_index_;
};

}  // namespace shadowprof
