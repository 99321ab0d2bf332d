// Finds the vDSO functions that are answered at their entry points.
#pragma once

#include <unordered_map>

#include "emu/guest/guest_space.h"
#include "emu/guest/syscall_handler.h"

namespace shadowprof {

// Entry points of the vDSO that `space` has at `mapping`; empty if its ELF image is malformed.
std::unordered_map<GuestAddress, VdsoFunction> find_vdso_functions(GuestSpace& space,
                                                                   const Mapping& mapping);

// Adds the functions at the top of the address space that preceded the vDSO. No effect without an
// executable [vsyscall].
void add_vsyscalls(const MemoryMap& layout,
                   std::unordered_map<GuestAddress, VdsoFunction>& functions);

}  // namespace shadowprof
