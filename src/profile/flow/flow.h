// What the step from one block to the next means. Everything that profiles say about control flow
// follows from these functions.
#pragma once

#include <optional>

#include "emu/trace/flow_events.h"
#include "profile/code/block_registry.h"
#include "profile/profile.h"

namespace shadowprof {

// A path has at most this many blocks.
inline constexpr std::size_t max_path_blocks = 128;

// A block that starts at or below this address, executed after `from`, was reached by a taken
// backward branch; it starts a new path (spec: a jump whose target address <= its own address;
// calls and returns never are). 0: none is.
constexpr GuestAddress backward_limit(const CanonicalBlock& from) {
    return is_jump(from.terminator) ? from.guest_last : GuestAddress{0};
}

// Whether the step is one that bursts count.
constexpr bool is_event(EventKinds kinds, const CanonicalBlock& from, const CanonicalBlock& to) {
    return is_event(kinds, from.terminator, from.guest_last, to.guest_start);
}

// The kind of edge by which control went from `from` to `to`. Nothing where no branch was executed:
// blocks cut by a limit, system calls, instructions that were single-stepped.
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

// False where a direct branch, or no branch at all, went somewhere else than the instructions say:
// a fault of the emulator or a forged trace.
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
