// Memory that forks leave out (MADV_DONTFORK) or show as zeros (MADV_WIPEONFORK). JavaScript
// engines use the former for all of their heap and code, and a replica without it would fault at
// its first instruction. Random number generators use the latter, and a replica without it would
// take itself for a new process.
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

// Returns the accessible, marked ranges from the text of /proc/PID/smaps. Each range holds only
// memory with that mark, and holes. Device memory is left out, as it must not be forked, and memory
// that only the kernel may mark (MAP_DROPPABLE).
Result<std::vector<UnforkedRange>> parse_unforked_ranges(std::string_view smaps_text);

// Whether a replica has memory that was wiped. It does not have left-out memory at all.
Result<bool> has_wiped_memory(pid_t replica);

// Unforked memory of a process that runs. Later changes to it show as changes of maps_text.
struct UnforkedMemory {
    std::vector<UnforkedRange> ranges;
    std::string maps_text;  // from the same moment

    // Takes longer the more memory the process uses. Errors: gone; interrupted: the process changed
    // its mappings meanwhile.
    static Result<UnforkedMemory> read(pid_t pid);
};

// During its lifetime, forks of the target include the current content of these ranges.
class ForkedRanges {
  public:
    // `session` must outlive it. If the kernel refuses, nothing changes.
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
