// Calls: which function was called from where, and how often.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/sums.h"

namespace shadowprof {

struct CallPair {
    CodeLocation site;
    CodeLocation callee;
    std::uint64_t count = 0;
    std::optional<double> error = {};

    friend bool operator==(const CallPair&, const CallPair&) = default;
};

inline auto identity(const CallPair& c) {
    return std::tie(c.site, c.callee);
}

void fields(auto& visitor, Like<CallPair> auto& c) {
    visitor.location("site", c.site);
    visitor.location("callee", c.callee);
    visitor.count("count", c.count);
    visitor.known_number("error", c.error);
}

struct CallList {
    using Record = CallPair;
    static constexpr std::string_view name = "calls";
    static constexpr KindOption option{.word = "call", .is_usual = true};
    static auto& of(auto& profile) { return profile.calls; }
};

}  // namespace shadowprof
