// Threads, with the samples, instructions and time of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/kinds/fields.h"

namespace shadowprof {

struct ThreadProfile {
    std::int64_t pid = 0;
    std::int64_t tid = 0;  // 0: all threads that began within samples
    std::string name;      // as the program set it; may be empty
    std::uint64_t samples = 0;
    std::uint64_t instructions = 0;
    std::uint64_t time_ns = 0;  // see PlaceTime

    friend bool operator==(const ThreadProfile&, const ThreadProfile&) = default;
};

inline auto identity(const ThreadProfile& t) {
    return std::tie(t.pid, t.tid, t.name);
}
inline auto heat(const ThreadProfile& t) {
    return std::pair(t.instructions, t.time_ns);
}
inline void add(ThreadProfile& sum, const ThreadProfile& t) {
    sum.samples += t.samples;
    sum.instructions += t.instructions;
    sum.time_ns += t.time_ns;
}

// Subtracts what each thread had in `earlier`. A thread may have another name by now.
void subtract_threads(std::vector<ThreadProfile>& threads,
                      const std::vector<ThreadProfile>& earlier);

void fields(auto& visitor, Like<ThreadProfile> auto& t) {
    visitor.integer("pid", t.pid);
    visitor.integer("tid", t.tid);
    visitor.text_or_null("name", t.name);
    visitor.count("samples", t.samples);
    visitor.count("instructions", t.instructions);
    visitor.timed_count("time_ns", t.time_ns);
}

struct ThreadList {
    using Record = ThreadProfile;
    static constexpr std::string_view name = "threads";
    static auto& of(auto& profile) { return profile.threads; }
    static constexpr bool is_kept_whole = true;
    static constexpr auto subtract_all = subtract_threads;
};

}  // namespace shadowprof
