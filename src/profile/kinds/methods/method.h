// Functions: their entries, loops, instructions and time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/calls/call_pair.h"
#include "profile/kinds/edges/edge.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/sums.h"

namespace shadowprof {

// A function's entries and loops. It is derived from other lists when a report is made
// (report/lists/methods.h), and known only where function bounds are.
struct Method {
    CodeLocation entry;
    std::uint64_t entries = 0;                  // calls of the function
    std::uint64_t back_edges = 0;               // taken backward branches within it
    std::optional<std::uint64_t> instructions;  // executed in it; nothing without stacks
    std::optional<double> error = {};
    std::optional<std::uint64_t> time_ns = {};  // see Stack
    std::optional<double> time_error_ns = {};
};

inline auto identity(const Method& m) {
    return std::tie(m.entry);
}
inline std::uint64_t heat(const Method& m) {
    return m.instructions.value_or(m.entries);
}
inline void add(Method& sum, const Method& m) {
    sum.entries += m.entries;
    sum.back_edges += m.back_edges;
    add_error(sum.error, m.error);
    add_known(sum.instructions, m.instructions);
    add_known(sum.time_ns, m.time_ns);
    add_error(sum.time_error_ns, m.time_error_ns);
}

void fields(auto& visitor, Like<Method> auto& m) {
    visitor.location("entry", m.entry);
    visitor.count("entries", m.entries);
    visitor.count("back_edges", m.back_edges);
    visitor.nullable_count("instructions", m.instructions);
    visitor.known_number("error", m.error);
    visitor.known_count("time_ns", m.time_ns);
    visitor.known_number("time_error_ns", m.time_error_ns);
}

struct MethodList {
    using Record = Method;
    static constexpr std::string_view name = "methods";
    static constexpr KindOption option{.word = "method"};
    using DerivedFrom = std::tuple<EdgeList, CallList>;
    static auto& of(auto& profile) { return profile.methods; }
};

}  // namespace shadowprof
