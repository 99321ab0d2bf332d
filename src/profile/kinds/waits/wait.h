// Where threads sleep in the kernel, by looks at them (shadow/looks/program_waits.h).
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

// The waits of all threads of one name in one call, made by the same callers.
struct Wait {
    std::string call;    // "futex", or "syscall_1234" if the number has no name
    CodeLocation at;     // the system call instruction
    std::string thread;  // the name of the threads; may be empty
    // Call sites, innermost first, as far as they could be found from outside.
    std::vector<CodeLocation> callers;
    std::uint64_t looks = 0;    // that found a thread asleep there
    std::uint64_t time_ns = 0;  // by the wall clock, of all threads together

    friend bool operator==(const Wait&, const Wait&) = default;
};

inline auto identity(const Wait& w) {
    return std::tie(w.call, w.at, w.thread, w.callers);
}
inline std::uint64_t heat(const Wait& w) {
    return w.time_ns;
}
inline void add(Wait& sum, const Wait& w) {
    sum.looks += w.looks;
    sum.time_ns += w.time_ns;
}
inline void subtract(Wait& wait, const Wait& earlier) {
    subtract(wait.looks, earlier.looks);
    subtract(wait.time_ns, earlier.time_ns);
}
inline bool is_empty(const Wait& w) {
    return w.looks == 0;
}

void fields(auto& visitor, Like<Wait> auto& w) {
    visitor.text("call", w.call);
    visitor.text("thread", w.thread);
    visitor.count("looks", w.looks);
    visitor.count("time_ns", w.time_ns);
    visitor.locations("callers", w.callers);
    visitor.location("at", w.at);
}

struct WaitList {
    using Record = Wait;
    static constexpr std::string_view name = "waits";
    static constexpr KindOption option{.word = "wait", .is_usual = true, .is_of_samples = false};
    static constexpr TableNames table{
        .title = "Waits, by the time that threads sleep there", .plural = "waits", .is_time = true};
    static auto& of(auto& profile) { return profile.waits; }
};

}  // namespace shadowprof
