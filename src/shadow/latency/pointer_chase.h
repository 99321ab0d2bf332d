// A process of our own that follows pointers through memory of a given size forever.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

enum class PageKind : std::uint8_t { small, huge };

enum class ChaseLines : std::uint8_t {
    all,
    one_a_page,  // at another place in each 4 KiB, so that all sets of a cache have some
};

// The pointers, in our memory; a forked process has them at the same place. They visit each cache
// line once, in a pseudo-random order that no prefetcher follows.
class ChaseMemory {
  public:
    // `bytes` must be a power of two, and at least a page. Error unsupported: there is no such
    // memory.
    static Result<ChaseMemory> create(std::uint64_t bytes, PageKind pages,
                                      ChaseLines lines = ChaseLines::all);
    ChaseMemory(ChaseMemory&& other) noexcept;
    ChaseMemory& operator=(ChaseMemory&&) = delete;
    ~ChaseMemory();

    // The number of lines that are visited.
    std::uint64_t lines() const;
    bool contains(GuestAddress address) const { return address.value - start() < bytes_; }
    // The line that the one at `address` points to, computed without reading it.
    GuestAddress next(GuestAddress address) const;
    GuestAddress first() const { return {start()}; }
    // Evicts a line from all caches of the machine.
    void flush(GuestAddress address) const;

  private:
    ChaseMemory(void* memory, std::uint64_t mapped_bytes, std::uint64_t bytes, ChaseLines lines)
        : memory_(memory), mapped_bytes_(mapped_bytes), bytes_(bytes), which_(lines) {}
    std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(memory_); }
    std::uint64_t spacing() const;
    GuestAddress line(std::uint64_t number) const;

    void* memory_;
    std::uint64_t mapped_bytes_, bytes_;
    ChaseLines which_;
};

// Forks a child that chases, with the pointer in RAX. The caller must kill and reap it.
Result<pid_t> fork_chaser(const ChaseMemory& memory);

}  // namespace shadowprof
