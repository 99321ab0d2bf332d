// Keeps memory that a process has told the kernel to leave out of its forks (MADV_DONTFORK,
// MADV_WIPEONFORK), for replicas that need it.
#pragma once

#include <span>

#include "ptrace/process/target.h"
#include "ptrace/replica/unforked_memory.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// Notices whether one process has memory that forks do not copy, and reads it for replicas.
class UnforkedWatch {
  public:
    // Whether the process has such memory and a sample needed it.
    bool is_needed() const { return is_needed_; }
    // Notes whether this sample of the process needed such memory.
    void note(const SampleReport& report, pid_t pid);

    // To be called before a stop. Returns false if the process changes its mappings just now.
    bool read(pid_t pid);
    // To be called in the stop. Returns whether the memory as read() found it is still there. If
    // that was not so several times in a row, reads it again, which makes the stop longer.
    bool check(const Target& target);
    std::span<const UnforkedRange> ranges() const { return memory_.ranges; }

  private:
    bool is_needed_ = false;
    UnforkedMemory memory_;
    int changes_ = 0;  // how often in a row the mappings had changed before the stop
};

}  // namespace shadowprof
