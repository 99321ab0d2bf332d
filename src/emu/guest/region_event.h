// The events that decide which parts of a program count: requests, and calls of counted functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shadowprof {

struct RegionEvent {
    enum class Kind : std::uint8_t {
        // Requests.
        start,         // count all threads
        stop,          // count none
        toggle,        // count the thread that asks, or do not
        zero,          // forget what was counted
        dump,          // a part of the profile ends, called `name`
        unknown_call,  // the program wants a function to be called outside of the emulation
        // The outermost call of a counted function (RegionWatch).
        enter,
        leave,
    };
    static constexpr std::size_t kinds = 8;
    static constexpr std::size_t max_name_bytes = 240;

    Kind kind = Kind::start;
    std::string name = {};  // at most max_name_bytes
};

}  // namespace shadowprof
