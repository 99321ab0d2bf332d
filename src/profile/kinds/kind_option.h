// How a kind of profile is asked for, and what it is called.
#pragma once

#include <string_view>

namespace shadowprof {

struct KindOption {
    std::string_view word;      // of --profiles
    bool is_usual = false;      // collected where nothing is asked for
    bool is_of_samples = true;  // made of what samples execute; else measured beside them
};

// The names for a kind that views show as a plain table of its fields.
struct TableNames {
    std::string_view title;   // "System calls by caller"
    std::string_view plural;  // "system calls", in "no system calls in the profile"
};

}  // namespace shadowprof
