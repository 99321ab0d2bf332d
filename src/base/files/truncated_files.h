// Files that shrink while they are mapped for reading.
#pragma once

namespace shadowprof {

// From now on, reading a mapped page that its file no longer has yields zeros instead of SIGBUS.
// Readers of ELF files (libdw maps them) then find a broken file and continue. This holds for the
// whole process, but not for programs that it executes.
void survive_truncated_files();

}  // namespace shadowprof
