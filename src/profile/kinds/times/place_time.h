// Where processor time goes, by looks at the threads that run (shadow/looks/thread_looks.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"

namespace shadowprof {

// The time at one place: an instruction, or a system call (code/kernel_calls.h).
struct PlaceTime {
    CodeLocation at;            // the next instruction to be executed
    std::uint64_t looks = 0;    // that found a thread there
    std::uint64_t time_ns = 0;  // time that they stand for

    friend bool operator==(const PlaceTime&, const PlaceTime&) = default;
};

// The same by call stack. It becomes the time of Stack. Not part of the file.
struct LookedStack {
    std::vector<CodeLocation> frames;  // outermost first: call sites, then the place
    std::uint64_t looks = 0;
    std::uint64_t time_ns = 0;
};

inline auto identity(const PlaceTime& t) {
    return std::tie(t.at);
}
inline std::uint64_t heat(const PlaceTime& t) {
    return t.time_ns;
}
inline void add(PlaceTime& sum, const PlaceTime& t) {
    sum.looks += t.looks;
    sum.time_ns += t.time_ns;
}

inline void subtract(PlaceTime& time, const PlaceTime& earlier) {
    subtract(time.looks, earlier.looks);
    subtract(time.time_ns, earlier.time_ns);
}
inline bool is_empty(const PlaceTime& t) {
    return t.looks == 0;
}

void fields(auto& visitor, Like<PlaceTime> auto& t) {
    visitor.location("at", t.at);
    visitor.count("looks", t.looks);
    visitor.count("time_ns", t.time_ns);
}

struct TimeList {
    using Record = PlaceTime;
    static constexpr std::string_view name = "times";
    static auto& of(auto& profile) { return profile.times; }
    static constexpr bool is_kept_whole = true;
};

}  // namespace shadowprof
