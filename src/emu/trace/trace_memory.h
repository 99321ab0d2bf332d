// The memory that running code appends its trace to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

// Room for trace words, filled from `top` down to `base`. The guard_bytes below `base` are not
// accessible: a fault there shows that the buffer is full.
struct TraceBuffer {
    static constexpr std::size_t guard_bytes = 64 * 1024;

    std::uint64_t* base = nullptr;
    std::uint64_t* top = nullptr;

    std::size_t words() const { return static_cast<std::size_t>(top - base); }
};

// Owns a buffer and its guard. Ends the process if there is no memory.
class TraceMemory {
  public:
    explicit TraceMemory(std::size_t words);
    ~TraceMemory();
    TraceMemory(const TraceMemory&) = delete;
    TraceMemory& operator=(const TraceMemory&) = delete;

    TraceBuffer buffer() const;

  private:
    std::size_t bytes_;
    std::byte* memory_;
};

}  // namespace shadowprof
