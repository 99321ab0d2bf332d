// Memory of ours in the target: a little code and a little data, both shared with us.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "ptrace/target/target.h"

namespace shadowprof {

// A mapping in the target of a file that has no name and is nobody else's. No page of it is
// writable and executable, no fork inherits it, and the target takes it out when it is let go
// (Target::detach). An exec takes it out as well.
class ScratchMemory {
  public:
    // `code` goes on pages that the target may execute, behind them are `data_bytes` that both
    // sides may write to, zero at first. Takes some ten injected calls in one session, through a
    // thread of `stop`. Whatever fails, nothing is left behind.
    // Errors: permission: the program forbids itself executable anonymous memory (by a seccomp
    // filter of its own, PR_SET_MDWE, or the system's policy); unsupported and gone as for
    // RemoteSyscall::borrow().
    static Result<ScratchMemory> inject(ScopedStop& stop, std::span<const std::byte> code,
                                        std::size_t data_bytes);
    ScratchMemory(ScratchMemory&& other) noexcept;
    ScratchMemory& operator=(ScratchMemory&&) = delete;
    // Ends our side of it; the target's is left to the target.
    ~ScratchMemory();

    GuestAddress code() const { return range_.start; }
    GuestAddress data() const { return range_.start + code_bytes_; }
    const MemoryRange& range() const { return range_; }
    // The data as we see it.
    std::span<std::byte> bytes() const { return {ours_ + code_bytes_, bytes_ - code_bytes_}; }
    // Whether the target still has all of it where it was, by its mappings.
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
