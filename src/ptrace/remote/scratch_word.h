// An unused word of a stopped target's memory, as an argument of injected calls.
#pragma once

#include <cstdint>

#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

class ScratchWord {
  public:
    // Finds a word that is 0, below the part of the stack that the thread uses. The thread must
    // stay stopped during this object's lifetime. Errors: unsupported: there is no such word; gone;
    // permission.
    static Result<ScratchWord> find(const StoppedThread& thread);

    ScratchWord(ScratchWord&& other) noexcept;
    ScratchWord& operator=(ScratchWord&&) = delete;
    // Resets the word to 0.
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
