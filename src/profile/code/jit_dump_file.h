// Finds the file of names that a just-in-time compiler writes for profilers, a jitdump. The
// compiler maps the file jit-PID.dump as executable, so that profilers see it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/memory_map.h"

namespace shadowprof {

// Returns the mapping of the process's jitdump; null if it has none. A child has those of its
// parents as well, until it executes another program. So the file of its own process id counts,
// else that of the largest one, since ids grow and the process may have another one in its
// namespace.
const Mapping* find_jit_dump(const MemoryMap& map, pid_t process);

// Returns hexadecimal digits that tell the file apart from those of other processes and runs: its
// inode and, where the file system knows it, its time of birth. The file's header is no help, as it
// may not be written yet.
std::string identity_of_jit_dump(int file);

}  // namespace shadowprof
