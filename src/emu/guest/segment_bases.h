// How the bases of the FS and GS segments are set, by which translated code reaches guest memory.
#pragma once

#include <cstdint>

namespace shadowprof {

enum class SegmentBases : std::uint8_t {
    // By WRFSBASE and WRGSBASE, which take any address. FS has the guest's base while guest code
    // runs.
    by_instruction,
    // By arch_prctl(2), which takes only addresses of user space, as the processor or the kernel
    // lacks FSGSBASE. FS keeps the host's base, and translated code adds the guest's FS base
    // itself. GS holds the delta, which is not negative.
    by_kernel,
};

// Reads AT_HWCAP2 to tell which of them this machine allows.
SegmentBases host_segment_bases();

}  // namespace shadowprof
