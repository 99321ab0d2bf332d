#include "emu/trace/trace_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace shadowprof {

TraceMemory::TraceMemory(std::size_t words)
    : bytes_(words * sizeof(std::uint64_t) + TraceBuffer::guard_bytes),
      memory_(static_cast<std::byte*>(
          mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (memory_ == MAP_FAILED || mprotect(memory_, TraceBuffer::guard_bytes, PROT_NONE) != 0)
        std::abort();
}

TraceMemory::~TraceMemory() {
    munmap(memory_, bytes_);
}

TraceBuffer TraceMemory::buffer() const {
    return {reinterpret_cast<std::uint64_t*>(memory_ + TraceBuffer::guard_bytes),
            reinterpret_cast<std::uint64_t*>(memory_ + bytes_)};
}

}  // namespace shadowprof
