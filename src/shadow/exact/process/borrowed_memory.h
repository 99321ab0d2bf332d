// Memory of a stopped program that holds an argument of injected calls for a while.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {

// Room for a Value in memory that is in use: what was there is restored at the end. Nobody else may
// use that memory meanwhile. Errors: system.
template <typename Value>
class BorrowedMemory {
  public:
    static Result<BorrowedMemory> of(pid_t pid, GuestAddress at) {
        TRY_ASSIGN(auto file, open_process_memory(pid, O_RDWR));
        BorrowedMemory memory(std::move(file), at);
        TRY_ASSIGN(memory.saved_, memory.get());
        return memory;
    }
    BorrowedMemory(BorrowedMemory&&) noexcept = default;
    BorrowedMemory& operator=(BorrowedMemory&&) = delete;
    ~BorrowedMemory() {
        if (file_) (void)put(saved_);
    }

    std::uint64_t address() const { return at_.value; }
    Result<Value> get() const {
        Value value;
        if (pread(file_.get(), &value, sizeof value, offset()) != sizeof value)
            return errno_error("read the program's memory");
        return value;
    }
    Result<void> put(const Value& value) const {
        if (pwrite(file_.get(), &value, sizeof value, offset()) != sizeof value)
            return errno_error("write to the program's memory");
        return {};
    }

  private:
    BorrowedMemory(UniqueFd file, GuestAddress at) : file_(std::move(file)), at_(at) {}
    off_t offset() const { return static_cast<off_t>(at_.value); }

    UniqueFd file_;
    GuestAddress at_;
    Value saved_ = {};
};

}  // namespace shadowprof
