// Files that shrink while they are mapped for reading.
#pragma once

namespace shadowprof {

// From now on, reading a mapped page that its file no longer has yields zeros instead of SIGBUS:
// what reads ELF files (libdw maps them) finds them broken and goes on. For the whole process;
// programs that it executes are not concerned.
void survive_truncated_files();

}  // namespace shadowprof
