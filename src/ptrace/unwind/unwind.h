// Call stacks by libunwind, from registers and memory alone. The process may be stopped, a replica,
// or gone with only its pages left.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/cpu_state.h"
#include "base/memory_map.h"
#include "base/memory_reader.h"

namespace shadowprof {

class Unwinder {
  public:
    static constexpr std::size_t max_frames = 256;

    Unwinder();
    Unwinder(const Unwinder&) = delete;
    Unwinder& operator=(const Unwinder&) = delete;
    ~Unwinder();

    // Returns the call stack, innermost first: cpu.rip, then return addresses. It ends at the
    // outermost frame, at max_frames, or without an error where the stack makes no sense. Frames of
    // code without unwind tables are followed by their frame pointers. Memory may be hostile: the
    // work is bounded.
    //
    // Caches unwind tables between calls as long as `map` shows the same code.
    std::vector<GuestAddress> unwind(const CpuState& cpu, const MemoryMap& map,
                                     MemoryReader& memory);

  private:
    class Space;
    std::unique_ptr<Space> space_;
};

}  // namespace shadowprof
