// What calls cost: the instructions between a call and its return, with all that is called there.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

// The calls of a function from one place. Of recursive calls, the outermost one's instructions
// count. A function that is entered by a jump (a tail call) takes the place of the one that was
// called, from then on.
struct CallCost {
    CodeLocation site;  // the last byte of the call, as in call stacks
    CodeLocation callee;
    std::uint64_t calls = 0;
    std::uint64_t instructions = 0;

    friend bool operator==(const CallCost&, const CallCost&) = default;
};

inline auto identity(const CallCost& c) {
    return std::tie(c.site, c.callee);
}
inline std::uint64_t heat(const CallCost& c) {
    return c.instructions;
}
inline bool is_empty(const CallCost& c) {
    return c.calls == 0 && c.instructions == 0;
}
inline void add(CallCost& sum, const CallCost& c) {
    sum.calls += c.calls;
    sum.instructions += c.instructions;
}
inline void subtract(CallCost& cost, const CallCost& earlier) {
    subtract(cost.calls, earlier.calls);
    subtract(cost.instructions, earlier.instructions);
}

void fields(auto& visitor, Like<CallCost> auto& c) {
    visitor.location("site", c.site);
    visitor.location("callee", c.callee);
    visitor.count("calls", c.calls);
    visitor.count("instructions", c.instructions);
}

struct CallCostList {
    using Record = CallCost;
    static constexpr std::string_view name = "call_costs";
    static constexpr KindOption option{.word = "call-cost"};
    static constexpr TableNames table{.title = "Calls, by the instructions between call and return",
                                      .plural = "costs of calls"};
    static auto& of(auto& profile) { return profile.call_costs; }
};

}  // namespace shadowprof
