// Stacks of a process that stands still for moments only, copied to be unwound when it runs again.
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
    // So much is copied of a stack. What lies deeper is not unwound.
    static constexpr std::size_t first_bytes = std::size_t{256} << 10;  // of the first thread
    static constexpr std::size_t more_bytes = std::size_t{64} << 10;

    // A new set, which is empty.
    void begin() { used_ = 0; }
    // Copies from the stack pointer on what can be read there. A microsecond for some ten KiB.
    // Threads in any order; one that was copied is not copied again.
    void copy(pid_t pid, std::size_t thread, GuestAddress stack_pointer);
    bool has(std::size_t thread) const { return thread < used_ && copies_[thread].taken; }

  private:
    friend class CopiedStack;
    // Kept from set to set for its memory.
    struct Copy {
        bool taken = false;
        GuestAddress start;
        std::size_t length = 0;
        std::vector<std::byte> bytes;
    };

    std::vector<Copy> copies_;
    std::size_t used_ = 0;
};

// What the unwinding of one copied stack reads: the copy, and of the process as it is now what
// cannot change.
class CopiedStack final : public MemoryReader {
  public:
    // `memory_fd`: of the process's address space, as it was when the stack was copied.
    CopiedStack(const StackCopies& copies, std::size_t thread, const MemoryMap& map, int memory_fd)
        : copy_(copies.copies_[thread]), map_(map), memory_fd_(memory_fd) {}

    bool read(GuestAddress from, std::span<std::byte> to) override;
    // Something that is there could not be read: the process is gone.
    bool lost() const { return lost_; }

  private:
    const StackCopies::Copy& copy_;
    const MemoryMap& map_;
    int memory_fd_;
    bool lost_ = false;
};

}  // namespace shadowprof
