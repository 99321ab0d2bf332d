#include "emu/guest/segment_bases.h"

#include <sys/auxv.h>

namespace shadowprof {

SegmentBases host_segment_bases() {
    // HWCAP2_FSGSBASE of <asm/hwcap2.h>. CPUID does not tell whether the kernel preserves the
    // bases.
    constexpr unsigned long hwcap2_fsgsbase = 2;
    return (getauxval(AT_HWCAP2) & hwcap2_fsgsbase) != 0 ? SegmentBases::by_instruction
                                                         : SegmentBases::by_kernel;
}

}  // namespace shadowprof
