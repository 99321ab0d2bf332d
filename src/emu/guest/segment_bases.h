// Who may set the bases of the FS and GS segments, by which translated code reaches guest memory.
#pragma once

#include <cstdint>

namespace shadowprof {

enum class SegmentBases : std::uint8_t {
    // WRFSBASE and WRGSBASE, which take any address: FS has the guest's base while guest code runs.
    by_instruction,
    // The processor or the kernel lacks FSGSBASE, so arch_prctl(2) alone, which takes addresses of
    // user space. FS stays the host's, and translated code adds the guest's FS base itself; GS
    // holds the delta, which is not negative.
    by_kernel,
};

// Tells from AT_HWCAP2 which of them this machine allows.
SegmentBases host_segment_bases();

}  // namespace shadowprof
