// Where a load may be timed: reading there has no effect but to bring data into caches.
#pragma once

#include <string_view>

#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

class TimeableMemory {
  public:
    // Nothing is.
    TimeableMemory() = default;
    // By names alone: anonymous memory and files that are mapped privately. What is shared may be a
    // device's.
    explicit TimeableMemory(const MemoryMap& map);
    // The same with what the kernel knows (the text of /proc/PID/smaps): shared files count, device
    // memory does not.
    static Result<TimeableMemory> parse(std::string_view smaps_text);

    // Readable data from the first to the last byte.
    bool contains(GuestAddress first, GuestAddress last) const;

  private:
    std::vector<Mapping> ranges_;  // by address
};

// Whether names alone leave out what smaps might let in.
bool wants_smaps(const MemoryMap& map);

}  // namespace shadowprof
