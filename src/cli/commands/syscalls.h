// shadowprof syscalls: how each system call is treated inside a sample.
#pragma once

#include <cstdio>

namespace shadowprof {

// Prints the classification table, as text or as a JSON array of objects with the members number,
// name, class, emulated and remark. 0, or errno of what kept it from being written.
int print_syscalls(bool json, std::FILE* out);

}  // namespace shadowprof
