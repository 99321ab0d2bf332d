// Keeps what a process has told the kernel to leave out of its forks (MADV_DONTFORK,
// MADV_WIPEONFORK), for replicas that need it.
#pragma once

#include <span>

#include "ptrace/replica/unforked_memory.h"
#include "ptrace/target/target.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// Whether one process has memory that forks do not copy, and what to do about it.
class UnforkedWatch {
  public:
    // The process has such memory, and a sample wanted it.
    bool is_needed() const { return is_needed_; }
    // A sample of the process may have wanted it.
    void note(const SampleReport& report, pid_t pid);

    // Before a stop. False: the process changes its mappings just now.
    bool read(pid_t pid);
    // In the stop: whether what was read is what is there. Reads it again, which makes the stop
    // longer, where that fails too often.
    bool check(const Target& target);
    std::span<const UnforkedRange> ranges() const { return memory_.ranges; }

  private:
    bool is_needed_ = false;
    UnforkedMemory memory_;
    int changes_ = 0;  // in a row: what was read was not what was there
};

}  // namespace shadowprof
