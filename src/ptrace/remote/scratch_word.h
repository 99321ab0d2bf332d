// A word of a stopped target's memory that is nobody's business: for what an injected call reads or
// writes.
#pragma once

#include <cstdint>

#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

class ScratchWord {
  public:
    // One that is 0, below what the thread uses of its stack. The thread must stand still for as
    // long as this lives. Errors: unsupported: there is none; gone; permission.
    static Result<ScratchWord> find(const StoppedThread& thread);

    ScratchWord(ScratchWord&& other) noexcept;
    ScratchWord& operator=(ScratchWord&&) = delete;
    // Makes it 0 again.
    ~ScratchWord();

    GuestAddress address() const { return address_; }
    // Errors: system.
    Result<std::uint32_t> read() const;
    Result<void> write(std::uint32_t value);

  private:
    ScratchWord(UniqueFd memory, GuestAddress address)
        : memory_(std::move(memory)), address_(address) {}

    UniqueFd memory_;
    GuestAddress address_;
};

}  // namespace shadowprof
