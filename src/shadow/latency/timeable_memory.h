// The memory in which a load may be timed: reading it has no effect but to bring data into caches.
#pragma once

#include <string_view>

#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

class TimeableMemory {
  public:
    // Contains nothing.
    TimeableMemory() = default;
    // Judges by names alone: contains anonymous memory, and files that are mapped privately. A
    // shared mapping may be a device's.
    explicit TimeableMemory(const MemoryMap& map);
    // Also judges by what the kernel knows (the text of /proc/PID/smaps): contains shared files,
    // but no device memory.
    static Result<TimeableMemory> parse(std::string_view smaps_text);

    // Whether all bytes from `first` to `last` are readable data.
    bool contains(GuestAddress first, GuestAddress last) const;

  private:
    std::vector<Mapping> ranges_;  // sorted by address
};

// Whether names alone leave out mappings that smaps might allow.
bool wants_smaps(const MemoryMap& map);

}  // namespace shadowprof
