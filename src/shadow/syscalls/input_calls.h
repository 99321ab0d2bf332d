// Which system calls bring in what a sample cannot know, and when two of them are the same.
#pragma once

#include <cstdint>

#include "shadow/syscalls/environment.h"

namespace shadowprof {

struct InputCallRow {
    std::uint16_t number = 0;
    // Bit n: argument n says what is asked for.
    std::uint8_t compared = 0;
    // The argument that is a time-out in milliseconds, or -1. It may come from a clock, so only
    // whether the call returns at once, waits or waits for ever is compared.
    std::int8_t timeout = -1;
    // It is recorded only where its descriptor is a pipe, socket, terminal or the like: files and
    // memory devices are read by the sample itself.
    bool by_descriptor = false;
};

// Null if the call is not one of them.
const InputCallRow* find_input_call(const InputCall& call);

// Whether a thread that made the call `asked` did what another did that made `recorded`: at the
// same place, with the same stack and the same wishes. Both must be input calls.
bool is_same_call(const InputCall& recorded, const InputCall& asked);

}  // namespace shadowprof
