// Names as their programmers wrote them.
#pragma once

#include <string>

namespace shadowprof {

// C++ names and Rust names of the older scheme, demangled; anything else as it is.
std::string demangle(const std::string& linkage_name);

}  // namespace shadowprof
