// What count-driven bursts count: calls and taken backward branches (hybrid-profiling-support,
// section 4.1).
#pragma once

#include <string_view>

#include "emu/trace/trace.h"

namespace shadowprof {

// Which of them are events.
struct EventKinds {
    bool calls = true;
    bool back_edges = true;

    friend constexpr bool operator==(const EventKinds&, const EventKinds&) = default;
};

// "calls+backedges", "calls" or "backedges".
constexpr std::string_view name(EventKinds kinds) {
    return !kinds.back_edges ? "calls" : kinds.calls ? "calls+backedges" : "backedges";
}

// Whether control makes an event when it leaves a block at its instruction `last`, which is a
// `how`, for the block at `next`.
constexpr bool is_event(EventKinds kinds, Terminator how, GuestAddress last, GuestAddress next) {
    return is_call(how) ? kinds.calls : kinds.back_edges && is_jump(how) && next <= last;
}

}  // namespace shadowprof
