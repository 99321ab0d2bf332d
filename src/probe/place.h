// Where an instruction is, according to the symbols.
#pragma once

#include <cstdint>
#include <string_view>

namespace shadowprof {

struct Place {
    std::string_view module;    // path
    std::string_view function;  // empty if unknown
    std::string_view file;      // empty if unknown or not looked up
    std::uint32_t line = 0;     // 0 if unknown or not looked up
    bool entry = false;         // whether it is the first instruction of its function
    bool has_line = true;       // whether `file` and `line` were looked up
};

}  // namespace shadowprof
