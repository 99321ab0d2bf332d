// Memory that programs ask allocators for: how often, how much, and who asks.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

// The calls of one allocator by the same callers. A call by another allocator does not count, as it
// is for the same caller.
struct Allocation {
    CodeLocation function;              // the allocator's entry
    std::vector<CodeLocation> callers;  // the innermost call sites, innermost first
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // that they asked for; of realloc, the new sizes

    friend bool operator==(const Allocation&, const Allocation&) = default;
};

inline auto identity(const Allocation& a) {
    return std::tie(a.function, a.callers);
}
inline std::uint64_t heat(const Allocation& a) {
    return a.bytes;
}
inline bool is_empty(const Allocation& a) {
    return a.calls == 0;
}
inline void add(Allocation& sum, const Allocation& a) {
    sum.calls += a.calls;
    sum.bytes += a.bytes;
}
inline void subtract(Allocation& allocation, const Allocation& earlier) {
    subtract(allocation.calls, earlier.calls);
    subtract(allocation.bytes, earlier.bytes);
}

void fields(auto& visitor, Like<Allocation> auto& a) {
    visitor.location("function", a.function);
    visitor.count("calls", a.calls);
    visitor.count("bytes", a.bytes);
    visitor.locations("callers", a.callers);
}

struct AllocationList {
    using Record = Allocation;
    static constexpr std::string_view name = "allocations";
    static constexpr KindOption option{.word = "alloc"};
    static constexpr TableNames table{.title = "Allocations, by the bytes that are asked for",
                                      .plural = "allocations"};
    static auto& of(auto& profile) { return profile.allocations; }
};

}  // namespace shadowprof
