#include "emu/guest/growing_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace shadowprof {

GrowingMemory GrowingMemory::accessible(std::span<std::byte> memory) {
    GrowingMemory result(memory, PROT_NONE, 1);
    result.accessible_bytes_ = memory.size();
    return result;
}

bool GrowingMemory::grow(std::size_t bytes) {
    if (bytes > reserved_.size()) return false;
    const auto steps = (bytes + step_bytes_ - 1) / step_bytes_;
    const auto end = std::min(steps * step_bytes_, reserved_.size());
    if (mprotect(reserved_.data() + accessible_bytes_, end - accessible_bytes_, protection_) != 0)
        return false;
    accessible_bytes_ = end;
    return true;
}

}  // namespace shadowprof
