// Branch edges: which instruction followed which branch, and how often.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/sums.h"

namespace shadowprof {

enum class EdgeKind : std::uint8_t { taken, fall_through, jump, indirect, call, ret };
inline constexpr std::array<std::string_view, 6> edge_kind_names = {
    "taken", "fall-through", "jump", "indirect", "call", "return"};
inline std::string_view name(EdgeKind kind) {
    return edge_kind_names.at(static_cast<std::size_t>(kind));
}

struct Edge {
    CodeLocation from;  // the branch instruction
    CodeLocation to;    // the first instruction executed after it
    EdgeKind kind = EdgeKind::jump;
    std::uint64_t count = 0;
    // Half the width of the 95% confidence interval of `count`, or of `instructions` in stacks and
    // methods (profile/statistics/batch_means.h). Nothing where it is not known or counts are
    // exact. The same holds for `error` in other kinds.
    std::optional<double> error = {};

    friend bool operator==(const Edge&, const Edge&) = default;
};

inline auto identity(const Edge& e) {
    return std::tie(e.from, e.to, e.kind);
}

void fields(auto& visitor, Like<Edge> auto& e) {
    visitor.location("from", e.from);
    visitor.location("to", e.to);
    visitor.choice("kind", e.kind, edge_kind_names);
    visitor.count("count", e.count);
    visitor.known_number("error", e.error);
}

struct EdgeList {
    using Record = Edge;
    static constexpr std::string_view name = "edges";
    static constexpr KindOption option{.word = "edge", .is_usual = true};
    static auto& of(auto& profile) { return profile.edges; }
};

}  // namespace shadowprof
