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

// Opens /proc/PID/mem, close-on-exec. The descriptor refers to the current address space: after an
// exec or the end of the process, reads return nothing.
Result<UniqueFd> open_process_memory(pid_t pid, int open_flags);

// Reads whole pages by process_vm_readv, many per call; each takes at most a microsecond. Page i
// goes to offset i * page_bytes of `to`, which must have room for all. Returns for each page
// whether it was read.
std::vector<bool> read_pages(pid_t pid, std::span<const GuestAddress> pages,
                             std::span<std::byte> to);

class ProcessMemory : public MemoryReader {
  public:
    explicit ProcessMemory(pid_t pid) : pid_(pid) {}

    // Reads by process_vm_readv, and by /proc/PID/mem whatever that may not read, such as
    // execute-only pages.
    bool read(GuestAddress from, std::span<std::byte> to) override;

  private:
    bool read_by_file(GuestAddress from, std::span<std::byte> to);

    pid_t pid_;
    UniqueFd file_;
};

// Writes only where the process itself may write.
class WritableProcessMemory final : public WritableMemory {
  public:
    explicit WritableProcessMemory(pid_t pid) : pid_(pid), readable_(pid) {}

    bool read(GuestAddress from, std::span<std::byte> to) override {
        return readable_.read(from, to);
    }
    bool write(GuestAddress to, std::span<const std::byte> from) override;

  private:
    pid_t pid_;
    ProcessMemory readable_;
};

}  // namespace shadowprof
