// System calls: which ones are made, where, by which callers, and what they transfer.
#pragma once

#include <cstdint>
#include <optional>
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
    // These are known in exact mode.
    std::optional<std::uint64_t> failed = {};  // calls that returned an error
    // What the others transferred; only of calls that return a number of bytes.
    std::optional<std::uint64_t> bytes = {};

    friend bool operator==(const SystemCall&, const SystemCall&) = default;
};

inline auto identity(const SystemCall& s) {
    return std::tie(s.at, s.call, s.callers);
}
inline std::uint64_t heat(const SystemCall& s) {
    return s.count;
}
inline void add(SystemCall& sum, const SystemCall& s) {
    const auto add_known = [](std::optional<std::uint64_t>& n, std::optional<std::uint64_t> more) {
        n = n && more ? std::optional(*n + *more) : std::nullopt;
    };
    sum.count += s.count;
    add_known(sum.failed, s.failed);
    add_known(sum.bytes, s.bytes);
}
inline void subtract(SystemCall& call, const SystemCall& earlier) {
    subtract(call.count, earlier.count);
    if (call.failed) subtract(*call.failed, earlier.failed.value_or(0));
    if (call.bytes) subtract(*call.bytes, earlier.bytes.value_or(0));
}

void fields(auto& visitor, Like<SystemCall> auto& s) {
    visitor.text("call", s.call);
    visitor.location("at", s.at);
    visitor.count("count", s.count);
    visitor.known_count("failed", s.failed);
    visitor.known_count("bytes", s.bytes);
    visitor.locations("callers", s.callers);
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
