// Which parts of the extended state this machine has, and where they lie in the standard format of
// an XSAVE area (Intel SDM vol. 1, 13.4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

struct XsaveRange {
    std::size_t offset = 0, size = 0;
};

// Where a component from 2 (AVX) on lies; size 0 if the machine does not have it or CpuState does
// not carry it. May lie behind CpuState::xsave_bytes on machines that are not known.
XsaveRange host_xsave_range(unsigned component);

// A bit for each component of CpuState::xsave_components that the machine has. Others in XSTATE_BV
// make XRSTOR fault and ptrace refuse the area.
std::uint64_t host_xsave_components();

}  // namespace shadowprof
