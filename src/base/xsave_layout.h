// Which parts of the extended state this machine has, and where they lie in the standard format of
// an XSAVE area (Intel SDM vol. 1, 13.4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

struct XsaveRange {
    std::size_t offset = 0, size = 0;
};

// Returns where a component lies, from number 2 (AVX) on. `size` is 0 if the machine does not have
// it or CpuState does not carry it. On unknown machines it may lie behind CpuState::xsave_bytes.
XsaveRange host_xsave_range(unsigned component);

// Returns a bit for each component of CpuState::xsave_components that the machine has. With other
// bits in XSTATE_BV, XRSTOR faults and ptrace refuses the area.
std::uint64_t host_xsave_components();

// Returns the bits of MXCSR that this machine knows. With others, XRSTOR faults.
std::uint32_t host_mxcsr_mask();

}  // namespace shadowprof
