// The top of a thread's stack, copied in a short stop, to be unwound when the thread runs again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/guest_address.h"
#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

class StackCopy {
  public:
    static constexpr std::size_t max_bytes = std::size_t{256} << 10;

    // Copies what can be read from the page of the stack pointer on, at most `bytes`, which are
    // whole pages and at most max_bytes. Takes a microsecond for some ten KiB. Memory is reused.
    void take(pid_t pid, GuestAddress stack_pointer, std::size_t bytes);
    // Takes over a copy that was made elsewhere, from the stack pointer on. What lies below on its
    // page reads as zeros. `wanted`: how many bytes it would have if the stack was not shorter.
    void set(GuestAddress stack_pointer, std::span<const std::byte> bytes, std::size_t wanted);

  private:
    friend class CopiedStack;
    GuestAddress start_;
    std::size_t length_ = 0, wanted_ = 0;
    std::vector<std::byte> bytes_;
};

// Memory as the unwinding of one copied stack sees it: the copy, and read-only files in the process
// as it is now.
class CopiedStack final : public MemoryReader {
  public:
    // `memory_fd` must be of the address space that the stack was copied from.
    CopiedStack(const StackCopy& copy, const MemoryMap& map, int memory_fd)
        : copy_(copy), map_(map), memory_fd_(memory_fd) {}

    bool read(GuestAddress from, std::span<std::byte> to) override;
    // Whether memory that is mapped could not be read: the process is gone.
    bool lost() const { return lost_; }
    // Whether more of the stack was asked for than was to be copied.
    bool is_cut() const { return is_cut_; }

  private:
    const StackCopy& copy_;
    const MemoryMap& map_;
    int memory_fd_;
    bool lost_ = false, is_cut_ = false;
};

}  // namespace shadowprof
