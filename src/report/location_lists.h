// Every location that a profile speaks of, in one place, so that none is forgotten.
#pragma once

#include <type_traits>
#include <variant>

#include "profile/profile.h"

namespace shadowprof {

// Calls visit(location) for each CodeLocation in `profile`, a Profile or const Profile. Locations
// of a mutable profile may be changed by `visit`.
template <typename AnyProfile, typename Visit>
requires std::is_same_v<std::remove_const_t<AnyProfile>, Profile>
void for_each_location(AnyProfile& profile, Visit visit) {
    for (auto& edge : profile.edges) visit(edge.from), visit(edge.to);
    for (auto& path : profile.paths)
        for (auto& block : path.blocks) visit(block);
    for (auto& stack : profile.stacks)
        for (auto& frame : stack.frames) visit(frame);
    for (auto& call : profile.calls) visit(call.site), visit(call.callee);
    for (auto& method : profile.methods) visit(method.entry);
    for (auto& value : profile.values) {
        visit(value.at);
        for (auto& by : value.by_caller)
            for (auto& caller : by.callers) visit(caller);
    }
    for (auto& hazard : profile.hazards) visit(hazard.first), visit(hazard.second);
    for (auto& address : profile.addresses) visit(address.at);
    for (auto& stream : profile.streams)
        for (auto& reference : stream.references) visit(reference.at);
    for (auto& load : profile.latency) visit(load.at);
    for (auto& ticks : profile.clock) visit(ticks.at);
    const auto visit_datum = [&](auto& datum) {
        if (auto* location = std::get_if<CodeLocation>(&datum)) visit(*location);
    };
    for (auto& probe : profile.probes)
        for (auto& entry : probe.entries) {
            visit_datum(entry.key);
            for (auto& top : entry.top) visit_datum(top.value);
        }
}

}  // namespace shadowprof
