// What a program asks of its profiler: where counting begins and ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shadowprof {

struct RegionRequest {
    enum class Kind : std::uint8_t {
        start,         // count all threads
        stop,          // count none
        toggle,        // count the thread that asks, or do not
        zero,          // forget what was counted
        dump,          // a part of the profile ends, called `name`
        unknown_call,  // the program wants a function to be called outside of the emulation
        // Not requests: the thread enters the outermost call of a counted function, or leaves it.
        enter,
        leave,
    };
    static constexpr std::size_t kinds = 8;
    static constexpr std::size_t max_name_bytes = 240;

    Kind kind = Kind::start;
    std::string name = {};  // at most max_name_bytes
};

}  // namespace shadowprof
