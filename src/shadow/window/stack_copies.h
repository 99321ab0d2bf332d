// Copies stacks of a process in its short stops, to unwind them when it runs again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/guest_address.h"
#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

class StackCopies {
  public:
    // Bytes that are copied of a stack. What lies deeper is not unwound.
    static constexpr std::size_t first_bytes = std::size_t{256} << 10;  // for the first thread
    static constexpr std::size_t more_bytes = std::size_t{64} << 10;

    // Begins a new, empty set.
    void begin() { used_ = 0; }
    // Copies what can be read from the stack pointer on. Takes a microsecond for some ten KiB.
    // Threads may come in any order; one that was copied is not copied again.
    void copy(pid_t pid, std::size_t thread, GuestAddress stack_pointer);
    bool has(std::size_t thread) const { return thread < used_ && copies_[thread].taken; }

  private:
    friend class CopiedStack;
    // Kept from set to set to reuse its memory.
    struct Copy {
        bool taken = false;
        GuestAddress start;
        std::size_t length = 0;
        std::vector<std::byte> bytes;
    };

    std::vector<Copy> copies_;
    std::size_t used_ = 0;
};

// Memory as the unwinding of one copied stack sees it: the copy, and read-only files in the process
// as it is now.
class CopiedStack final : public MemoryReader {
  public:
    // `memory_fd` must be of the address space that the stack was copied from.
    CopiedStack(const StackCopies& copies, std::size_t thread, const MemoryMap& map, int memory_fd)
        : copy_(copies.copies_[thread]), map_(map), memory_fd_(memory_fd) {}

    bool read(GuestAddress from, std::span<std::byte> to) override;
    // Whether memory that is mapped could not be read: the process is gone.
    bool lost() const { return lost_; }

  private:
    const StackCopies::Copy& copy_;
    const MemoryMap& map_;
    int memory_fd_;
    bool lost_ = false;
};

}  // namespace shadowprof
