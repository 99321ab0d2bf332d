// Reserved memory that becomes accessible from its start on, as it is used. A guest that reaches
// the rest faults (docs/verification.md).
#pragma once

#include <cstddef>
#include <span>

namespace shadowprof {

class GrowingMemory {
  public:
    GrowingMemory() = default;
    // `reserved` begins at a page and is not accessible. `protection` is as for mprotect(2). Memory
    // becomes accessible in steps of `step_bytes`, a multiple of the page size.
    GrowingMemory(std::span<std::byte> reserved, int protection, std::size_t step_bytes)
        : reserved_(reserved), protection_(protection), step_bytes_(step_bytes) {}
    // Memory that is accessible from the start.
    static GrowingMemory accessible(std::span<std::byte> memory);

    // Makes the first `bytes` accessible. False if fewer are reserved or the kernel refuses.
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
