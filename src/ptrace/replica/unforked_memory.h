// Memory that forks leave out (MADV_DONTFORK) or show as zeros (MADV_WIPEONFORK). JavaScript
// engines ask for the former for all of their heap and code, and a replica without it would fault
// at its first instruction; random number generators for the latter, and a replica would take
// itself for a new process.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/memory_range.h"
#include "base/result.h"
#include "ptrace/remote/remote_syscall.h"

namespace shadowprof {

struct UnforkedRange {
    enum class Mark : std::uint8_t { left_out, wiped };

    MemoryRange range;
    Mark mark = Mark::left_out;

    friend bool operator==(const UnforkedRange&, const UnforkedRange&) = default;
};

// From the text of /proc/PID/smaps: what can be accessed and is marked. Each range holds memory
// with that mark and holes, nothing else. Device memory is not in it, as nobody may fork that; nor
// what the kernel alone may mark (MAP_DROPPABLE).
Result<std::vector<UnforkedRange>> parse_unforked_ranges(std::string_view smaps_text);

// Whether a replica has memory that was wiped. What is left out it does not have at all.
Result<bool> has_wiped_memory(pid_t replica);

// For a process that runs: whatever it changes meanwhile shows in maps_text.
struct UnforkedMemory {
    std::vector<UnforkedRange> ranges;
    std::string maps_text;  // of the same moment

    // Takes longer the more memory the process uses. Errors: gone; interrupted: the process changed
    // its mappings meanwhile.
    static Result<UnforkedMemory> read(pid_t pid);
};

// Forks of the target include its ranges, as they are, for as long as this lives.
class ForkedRanges {
  public:
    // `session` must outlive it. Where the kernel refuses, nothing changes.
    ForkedRanges(RemoteSyscall& session, std::span<const UnforkedRange> ranges);
    ~ForkedRanges();
    ForkedRanges(const ForkedRanges&) = delete;
    ForkedRanges& operator=(const ForkedRanges&) = delete;

  private:
    void advise(const MemoryRange& range, int advice);

    RemoteSyscall& session_;
    std::span<const UnforkedRange> ranges_;
};

}  // namespace shadowprof
