// Bulk access to the memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/memory_reader.h"
#include "base/result.h"

namespace shadowprof {

// Opens /proc/PID/mem, close-on-exec. The descriptor stays with the address space of this moment:
// after an exec or the process's end, reads of it return nothing.
Result<UniqueFd> open_process_memory(pid_t pid, int open_flags);

// Reads whole pages by process_vm_readv, as many as there are at a time: a microsecond for each or
// less. Page i goes to `to` from i * page_bytes on, where it can be read, which the answer says.
// Needs room for all in `to`.
std::vector<bool> read_pages(pid_t pid, std::span<const GuestAddress> pages,
                             std::span<std::byte> to);

class ProcessMemory : public MemoryReader {
  public:
    explicit ProcessMemory(pid_t pid) : pid_(pid) {}

    // By process_vm_readv; what that may not read (execute-only pages, say) by /proc/PID/mem.
    bool read(GuestAddress from, std::span<std::byte> to) override;

  private:
    bool read_by_file(GuestAddress from, std::span<std::byte> to);

    pid_t pid_;
    UniqueFd file_;
};

}  // namespace shadowprof
