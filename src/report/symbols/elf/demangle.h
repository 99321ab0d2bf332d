// Demangles names.
#pragma once

#include <string>

namespace shadowprof {

// Demangles names of C++, of both schemes of Rust, and of D. Hashes of Rust's crates and functions
// are left out. Returns anything else unchanged, as well as names that are too long or would become
// so, or that take long to be read: names come from hostile files, and one of 300 bytes can stand
// for gigabytes.
std::string demangle(const std::string& linkage_name);

}  // namespace shadowprof
