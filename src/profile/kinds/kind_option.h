// How the command line asks for a kind of profile, and how views name it.
#pragma once

#include <string_view>

namespace shadowprof {

struct KindOption {
    std::string_view word;      // in --profiles
    bool is_usual = false;      // collected by default
    bool is_of_samples = true;  // collected from samples; else measured beside them
};

// Names of a kind that views show as a plain table of its fields.
struct TableNames {
    std::string_view title;   // "System calls by caller"
    std::string_view plural;  // "system calls", in "no system calls in the profile"
    bool is_time = false;     // heat() is in nanoseconds
};

}  // namespace shadowprof
