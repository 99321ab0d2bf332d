// What a probe saw, on its way from the emulator to the collector.
#pragma once

#include <cstdint>

#include "base/guest_address.h"
#include "probe/bound_probe.h"

namespace shadowprof {

// Stands in front of the record of the block that the probed instruction begins. If it is the last
// of its thread, or the same comes again before that record, the instruction was not executed.
// Hostile where it comes from a worker process.
struct ProbeRecord {
    GuestAddress pc;
    std::uint64_t value = 0, key = 0;
    std::uint32_t probe = 0;
    std::uint32_t missed = 0;  // not 0: value and key mean nothing
    std::uint32_t thread = 0;  // GuestThreads::Index
    std::uint32_t place = 0;   // trace words of the segment that are older

    friend bool operator==(const ProbeRecord&, const ProbeRecord&) = default;
};
static_assert(sizeof(ProbeRecord) == 40);
static_assert(sizeof(ProbeRecord) % sizeof(std::uint64_t) == 0);

// ProbeRecord::probe of a record that tells of a system call instead: `pc` is the instruction,
// `value` the number, of 32 bits as the kernel takes it. It stands behind the record of the block
// that ends with the call, which may not return.
inline constexpr std::uint32_t system_call_note = ~std::uint32_t{0};

}  // namespace shadowprof
