// Where an instruction is, as symbols tell it.
#pragma once

#include <cstdint>
#include <string_view>

namespace shadowprof {

struct Place {
    std::string_view module;    // its path
    std::string_view function;  // empty if it is not known
    std::string_view file;      // empty if it is not known, or was not looked up
    std::uint32_t line = 0;     // 0 likewise
    bool entry = false;         // the first instruction of its function
    bool has_line = true;       // false: `file` and `line` were not looked up
};

}  // namespace shadowprof
