// Gives block ids a meaning that does not depend on the worker process that made them, nor on where
// the run loaded its modules: canonical blocks, and the sites whose values are profiled.
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
    // Where it lay when it was first seen. Branch directions are told by these, also for blocks of
    // different modules.
    GuestAddress guest_start;
    GuestAddress guest_last;
    GuestAddress guest_target;  // of a direct branch or call, else 0
    std::uint32_t instructions = 0;
    Terminator terminator = Terminator::none;
    std::optional<FoundFunction> function = {};  // that `start` is in, where that is known
};

// One destination operand of one static instruction.
struct ValueSite {
    CodeLocation at;
    std::uint16_t reg = 0;  // ZydisRegister
    std::uint8_t width_bytes = 0;
    ValueType type = {};  // canonical

    friend bool operator==(const ValueSite&, const ValueSite&) = default;
};

// False for what no emulator writes. Needs a private copy: the original may change meanwhile.
bool is_plausible(const BlockInfo& block);
// The same for a slot of that block, behind those `before` it, which are plausible.
bool is_plausible(const ValueSlot& slot, std::span<const ValueSlot> before, const BlockInfo& block);
bool is_plausible(const ReferenceSlot& slot, std::span<const ReferenceSlot> before,
                  const BlockInfo& block);

// May be used by several threads. Grows, never changes.
class BlockRegistry {
  public:
    // More blocks and sites than programs have; less than would exhaust memory.
    static constexpr std::size_t max_blocks = 1 << 23;
    static constexpr std::size_t max_sites = 1 << 21;
    using FindFunction = std::function<std::optional<FoundFunction>(CodeLocation)>;

    // `find_function` is asked once for each block. Without it no function is known.
    explicit BlockRegistry(FindFunction find_function = {})
        : find_function_(std::move(find_function)) {}

    // The token of a block. Blocks that lie in the same place and look the same are the same block,
    // whichever worker and process they come from. Needs a plausible block. Nothing if there are
    // too many.
    std::optional<BlockToken> token(const BlockInfo& block, AddressResolver& resolver);
    // A copy of what a token names. Needs a token that this registry gave.
    CanonicalBlock block(BlockToken token) const;
    // How many tokens there are: they run from 1 to this number.
    std::size_t blocks() const;

    // The number of a site. Nothing if there are too many.
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
