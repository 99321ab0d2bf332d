// System calls: which ones are made, where, and by which callers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"

namespace shadowprof {

struct SystemCall {
    CodeLocation at;                    // the system call instruction
    std::string call;                   // "read", or "syscall_1234" if the number has no name
    std::vector<CodeLocation> callers;  // the innermost call sites, innermost first
    std::uint64_t count = 0;            // calls made, whether they returned or not

    friend bool operator==(const SystemCall&, const SystemCall&) = default;
};

inline auto identity(const SystemCall& s) {
    return std::tie(s.at, s.call, s.callers);
}
inline std::uint64_t heat(const SystemCall& s) {
    return s.count;
}
inline void add(SystemCall& sum, const SystemCall& s) {
    sum.count += s.count;
}
inline void subtract(SystemCall& call, const SystemCall& earlier) {
    subtract(call.count, earlier.count);
}

void fields(auto& visitor, Like<SystemCall> auto& s) {
    visitor.text("call", s.call);
    visitor.location("at", s.at);
    visitor.locations("callers", s.callers);
    visitor.count("count", s.count);
}

struct SystemCallList {
    using Record = SystemCall;
    static constexpr std::string_view name = "system_calls";
    static constexpr KindOption option{.word = "syscall"};
    static constexpr TableNames table{.title = "System calls, by how often they are made",
                                      .plural = "system calls"};
    static auto& of(auto& profile) { return profile.system_calls; }
};

}  // namespace shadowprof
