// Demangles names.
#pragma once

#include <string>

namespace shadowprof {

// Demangles C++ names and Rust names of the older scheme; returns anything else unchanged.
std::string demangle(const std::string& linkage_name);

}  // namespace shadowprof
