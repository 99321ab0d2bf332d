// A process of our own that follows pointers through memory of a given size for ever.
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
    one_a_page,  // at another place in each 4 KiB, so that they spread over all sets of a cache
};

// The pointers, in our memory: a process that is forked has the same at the same place. They visit
// the cache lines once in a pseudo-random order, which no prefetcher follows.
class ChaseMemory {
  public:
    // `bytes`: a power of two, at least a page. Error: unsupported: there is no such memory.
    static Result<ChaseMemory> create(std::uint64_t bytes, PageKind pages,
                                      ChaseLines lines = ChaseLines::all);
    ChaseMemory(ChaseMemory&& other) noexcept;
    ChaseMemory& operator=(ChaseMemory&&) = delete;
    ~ChaseMemory();

    // That are visited.
    std::uint64_t lines() const;
    bool contains(GuestAddress address) const { return address.value - start() < bytes_; }
    // The line that the one at `address` points to, computed without looking at it.
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

// A child that chases; it has the pointer in RAX. To be killed and reaped by the caller.
Result<pid_t> fork_chaser(const ChaseMemory& memory);

}  // namespace shadowprof
