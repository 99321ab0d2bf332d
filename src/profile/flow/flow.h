// The meaning of a step from one block to the next. All that profiles say about control flow
// follows from these functions.
#pragma once

#include <optional>

#include "emu/trace/flow_events.h"
#include "profile/code/block_registry.h"
#include "profile/profile.h"

namespace shadowprof {

// A path has at most this many blocks.
inline constexpr std::size_t max_path_blocks = 128;

// A block that starts at or below this address and is executed after `from` was reached by a taken
// backward branch, and starts a new path. The branch must be a jump whose target address <= its own
// address; calls and returns start no path. 0: `from` ends in no jump.
constexpr GuestAddress backward_limit(const CanonicalBlock& from) {
    return is_jump(from.terminator) ? from.guest_last : GuestAddress{0};
}

// Whether the step is an event that bursts count.
constexpr bool is_event(EventKinds kinds, const CanonicalBlock& from, const CanonicalBlock& to) {
    return is_event(kinds, from.terminator, from.guest_last, to.guest_start);
}

// The kind of edge by which control went from `from` to `to`. Nothing if no branch was executed, as
// after blocks cut by a limit, system calls and single-stepped instructions.
inline std::optional<EdgeKind> edge_kind(const CanonicalBlock& from, const CanonicalBlock& to) {
    switch (from.terminator) {
        case Terminator::conditional:
            return to.start == from.end ? EdgeKind::fall_through : EdgeKind::taken;
        case Terminator::jump:
            return EdgeKind::jump;
        case Terminator::indirect_jump:
            return EdgeKind::indirect;
        case Terminator::call:
        case Terminator::indirect_call:
            return EdgeKind::call;
        case Terminator::ret:
            return EdgeKind::ret;
        case Terminator::none:
        case Terminator::syscall:
        case Terminator::single_stepped:
            break;
    }
    return std::nullopt;
}

// Returns false if a direct branch, or a block without a branch, led somewhere else than its
// instructions say: a fault of the emulator or a forged trace.
inline bool is_possible(const CanonicalBlock& from, const CanonicalBlock& to) {
    const bool falls_through = to.start == from.end;
    const bool hits_target =
        to.guest_start == from.guest_target ||
        (to.start.module == from.start.module &&
         to.start.address - from.start.address == from.guest_target - from.guest_start);
    switch (from.terminator) {
        case Terminator::conditional:
            return falls_through || hits_target;
        case Terminator::jump:
        case Terminator::call:
            return hits_target;
        case Terminator::none:
            return falls_through;
        default:
            return true;
    }
}

}  // namespace shadowprof
