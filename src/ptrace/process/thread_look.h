// Where a thread is at a moment: Target::look().
#pragma once

#include <chrono>
#include <cstdint>

#include "base/guest_address.h"

namespace shadowprof {

struct ThreadLook {
    enum class State : std::uint8_t {
        unknown,  // it did not stop by Target::longest_look
        in_code,  // it executes the program's code
        in_call,  // it executes a system call in the kernel
    };

    State state = State::unknown;
    GuestAddress at;  // of in_code and in_call: its next instruction in the program
    std::chrono::nanoseconds pause{0};  // how long it stood still at most
};

}  // namespace shadowprof
