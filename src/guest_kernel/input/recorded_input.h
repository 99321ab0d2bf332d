// The result of a system call that brings in input. It is recorded from the program while a sample
// of it is emulated, and given to the sample at its own call (shadow profiling, section 3.2: pipes
// and sockets).
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

// A descriptor that the call opened.
struct NewDescriptor {
    std::int32_t fd = -1;
    DescriptorFacts facts;
};

struct RecordedInput {
    InputCall call;
    std::int64_t value = 0;         // its return value
    std::uint64_t duration_ns = 0;  // from entry to exit
    // Memory that the call has read. A sample whose memory differs there did not do what the
    // program did.
    std::vector<MemoryBytes> expected;
    std::vector<MemoryBytes> written;  // by the kernel
    std::vector<NewDescriptor> descriptors;

    // Memory that this object takes.
    std::size_t size_bytes() const;
};

// Encodes everything except `call` for another process.
std::vector<std::byte> encode(const RecordedInput& input);
// Decodes encode()'s bytes; any bytes may be given. Errors: invalid.
Result<RecordedInput> decode_input(std::span<const std::byte> bytes);

}  // namespace shadowprof
