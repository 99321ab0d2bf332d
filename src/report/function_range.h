// The bytes of a function.
#pragma once

#include <cstdint>
#include <string>

namespace shadowprof {

struct FunctionRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte
    std::string name;       // as the linker knows it; empty if only its bounds are known
};

}  // namespace shadowprof
