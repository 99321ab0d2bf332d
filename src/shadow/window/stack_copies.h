// The stacks of a process's threads, copied in one of its short stops.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "ptrace/unwind/stack_copy.h"

namespace shadowprof {

class StackCopies {
  public:
    // Bytes that are copied of a stack. What lies deeper is not unwound.
    static constexpr std::size_t first_bytes = StackCopy::max_bytes;  // for the first thread
    static constexpr std::size_t more_bytes = std::size_t{64} << 10;

    // Begins a new, empty set.
    void begin() { used_ = 0; }
    // Threads may come in any order; one that was copied is not copied again.
    void copy(pid_t pid, std::size_t thread, GuestAddress stack_pointer) {
        if (has(thread)) return;
        if (copies_.size() <= thread) copies_.resize(thread + 1);
        for (; used_ <= thread; ++used_) copies_[used_].is_taken = false;
        copies_[thread].is_taken = true;
        copies_[thread].stack.take(pid, stack_pointer, thread == 0 ? first_bytes : more_bytes);
    }
    bool has(std::size_t thread) const { return thread < used_ && copies_[thread].is_taken; }
    // Needs has().
    const StackCopy& operator[](std::size_t thread) const { return copies_[thread].stack; }

  private:
    // Kept from set to set to reuse its memory.
    struct Copy {
        bool is_taken = false;
        StackCopy stack;
    };

    std::vector<Copy> copies_;
    std::size_t used_ = 0;
};

}  // namespace shadowprof
