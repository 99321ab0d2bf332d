// Memory that forks leave out: madvise(MADV_DONTFORK). JavaScript engines ask for it for all of
// their heap and code, and a replica without it would fault at its first instruction.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/memory_range.h"
#include "base/result.h"
#include "ptrace/remote_syscall.h"

namespace shadowprof {

// From the text of /proc/PID/smaps: what can be accessed and is left out. Each range holds such
// memory and holes, nothing else. Device memory is not in it: nobody may fork that.
Result<std::vector<MemoryRange>> parse_unforked_ranges(std::string_view smaps_text);

// For a process that runs: whatever it changes meanwhile shows in maps_text.
struct UnforkedMemory {
    std::vector<MemoryRange> ranges;
    std::string maps_text;  // of the same moment

    // Takes longer the more memory the process uses. Errors: gone; interrupted: the process changed
    // its mappings meanwhile.
    static Result<UnforkedMemory> read(pid_t pid);
};

// Forks of the target include its ranges for as long as this lives.
class ForkedRanges {
  public:
    // `session` must outlive it. Where the kernel refuses, nothing changes.
    ForkedRanges(RemoteSyscall& session, std::span<const MemoryRange> ranges);
    ~ForkedRanges();
    ForkedRanges(const ForkedRanges&) = delete;
    ForkedRanges& operator=(const ForkedRanges&) = delete;

  private:
    RemoteSyscall& session_;
    std::span<const MemoryRange> ranges_;
};

}  // namespace shadowprof
