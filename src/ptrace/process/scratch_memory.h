// Our memory in the target: a little code and a little data, shared between the target and us.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "ptrace/process/target.h"

namespace shadowprof {

// A mapping in the target of an unnamed file that nobody else uses. No page of it is both writable
// and executable, no fork inherits it, and Target::detach() makes the target unmap it. An exec
// unmaps it as well.
class ScratchMemory {
  public:
    // `code` goes to pages that the target may execute. Behind them are `data_bytes` of zeros that
    // both sides may write to. Takes some ten injected calls in one session, through a thread of
    // `stop`. If it fails, nothing is left behind. Errors: permission: the program forbids itself
    // executable anonymous memory (by a seccomp filter of its own, PR_SET_MDWE, or the system's
    // policy); unsupported and gone as for RemoteSyscall::borrow().
    static Result<ScratchMemory> inject(ScopedStop& stop, std::span<const std::byte> code,
                                        std::size_t data_bytes);
    ScratchMemory(ScratchMemory&& other) noexcept;
    ScratchMemory& operator=(ScratchMemory&&) = delete;
    // Unmaps our side only. The target's mapping stays.
    ~ScratchMemory();

    GuestAddress code() const { return range_.start; }
    GuestAddress data() const { return range_.start + code_bytes_; }
    const MemoryRange& range() const { return range_; }
    // The data in our address space.
    std::span<std::byte> bytes() const { return {ours_ + code_bytes_, bytes_ - code_bytes_}; }
    // Whether the target still has all of it at its place, according to its mappings.
    bool is_in(const MemoryMap& map) const;

  private:
    ScratchMemory(MemoryRange range, std::size_t code_bytes, std::byte* ours, std::uint64_t inode)
        : range_(range),
          code_bytes_(code_bytes),
          ours_(ours),
          bytes_(range.end - range.start),
          inode_(inode) {}

    MemoryRange range_;
    std::size_t code_bytes_;  // whole pages
    std::byte* ours_;
    std::size_t bytes_;
    std::uint64_t inode_;
};

}  // namespace shadowprof
