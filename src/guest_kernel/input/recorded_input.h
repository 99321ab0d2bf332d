// What a system call that brings something in gave to the program: recorded from the program while
// a sample of it is emulated, and given to the sample at its own call (shadow profiling, section
// 3.2: pipes and sockets).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/guest_address.h"
#include "base/result.h"
#include "guest_kernel/state/environment.h"
#include "syscalls/call_memory.h"

namespace shadowprof {

// A descriptor that the call made.
struct NewDescriptor {
    std::int32_t fd = -1;
    DescriptorFacts facts;
};

struct RecordedInput {
    InputCall call;
    std::int64_t value = 0;         // what it returned
    std::uint64_t duration_ns = 0;  // from its entry to its exit
    // The memory that the call has read; a sample whose memory holds something else there did not
    // do what the program did.
    std::vector<MemoryBytes> expected;
    std::vector<MemoryBytes> written;  // by the kernel
    std::vector<NewDescriptor> descriptors;

    // What it takes to keep it.
    std::size_t size_bytes() const;
};

// For the way to another process; `call` stays here.
std::vector<std::byte> encode(const RecordedInput& input);
// Any bytes may be given. Errors: invalid.
Result<RecordedInput> decode_input(std::span<const std::byte> bytes);

}  // namespace shadowprof
