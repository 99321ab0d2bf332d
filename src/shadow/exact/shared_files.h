// Finds the files that a program maps shared, so that its emulator can map them too: what the
// program writes there must be seen by others at once, and what they write by the program.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "shadow/emulation/owned_worker.h"

namespace shadowprof {

class SharedFiles {
  public:
    // Mappings whose file cannot be had.
    struct Missing {
        std::optional<std::string> writable;  // the name of the first that is writable
        std::vector<MemoryRange> others;      // what others may write to, but not the program
    };
    // Gives `worker` the files of mappings that it does not have yet. Errors: those of the worker.
    Result<Missing> give(pid_t pid, const MemoryMap& map, WorkerProcess& worker);
    // To be called when another worker begins, or this one begins anew.
    void forget() { given_.clear(); }

  private:
    // By device and inode, and whether it may be written to.
    std::set<std::tuple<std::uint64_t, std::uint64_t, bool>> given_;
};

// Opens the file that process `pid` has at `mapping`, for writing if the mapping is writable.
// Nothing if it cannot be opened, or is no regular file.
UniqueFd open_mapped_file(pid_t pid, const Mapping& mapping);

}  // namespace shadowprof
