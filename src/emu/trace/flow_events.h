// Events that count-driven bursts count: calls and taken backward branches
// (hybrid-profiling-support, section 4.1).
#pragma once

#include <string_view>

#include "emu/trace/trace.h"

namespace shadowprof {

// Which of the two count as events.
struct EventKinds {
    bool calls = true;
    bool back_edges = true;

    friend constexpr bool operator==(const EventKinds&, const EventKinds&) = default;
};

// "calls+backedges", "calls" or "backedges".
constexpr std::string_view name(EventKinds kinds) {
    return !kinds.back_edges ? "calls" : kinds.calls ? "calls+backedges" : "backedges";
}

// Whether it is an event when control leaves a block for the block at `next`. `last` is the block's
// last instruction and `how` its terminator.
constexpr bool is_event(EventKinds kinds, Terminator how, GuestAddress last, GuestAddress next) {
    return is_call(how) ? kinds.calls : kinds.back_edges && is_jump(how) && next <= last;
}

}  // namespace shadowprof
