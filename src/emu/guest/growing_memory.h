// Reserved memory that becomes accessible from its start on, as it is used. What is not accessible
// faults when a guest reaches it (docs/verification.md).
#pragma once

#include <cstddef>
#include <span>

namespace shadowprof {

class GrowingMemory {
  public:
    GrowingMemory() = default;
    // `reserved` begins at a page, and is not accessible. `protection` is that of mprotect.
    // `step_bytes`, whole pages, become accessible at a time.
    GrowingMemory(std::span<std::byte> reserved, int protection, std::size_t step_bytes)
        : reserved_(reserved), protection_(protection), step_bytes_(step_bytes) {}
    // The same of memory that is accessible.
    static GrowingMemory accessible(std::span<std::byte> memory);

    // Makes the first `bytes` accessible. False if there are less, or the kernel allows no more.
    bool reach(std::size_t bytes) { return bytes <= accessible_bytes_ || grow(bytes); }
    std::size_t accessible_bytes() const { return accessible_bytes_; }
    std::span<std::byte> reserved() const { return reserved_; }

  private:
    bool grow(std::size_t bytes);

    std::span<std::byte> reserved_;
    int protection_ = 0;
    std::size_t step_bytes_ = 0;
    std::size_t accessible_bytes_ = 0;
};

}  // namespace shadowprof
