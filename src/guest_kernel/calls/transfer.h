// Copies bytes between the guest and the emulated kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/descriptor_table.h"
#include "syscalls/call_memory.h"

namespace shadowprof {

struct GuestRange {
    GuestAddress start;
    std::uint64_t size_bytes = 0;
};

// One buffer, cut to max_transfer_bytes.
std::vector<GuestRange> one_range(GuestAddress start, std::uint64_t size_bytes);
// The buffers of an array of struct iovec, cut to max_transfer_bytes in total: EFAULT, EINVAL.
Emulated<std::vector<GuestRange>> load_ranges(SyscallCall& call, GuestAddress array,
                                              std::uint64_t count);

// Takes bytes from the guest, in order.
using Consumer = std::function<void(std::span<const std::byte>)>;
// Fills the span as far as there is input. Returns how many bytes.
using Producer = std::function<Emulated<std::size_t>(std::span<std::byte>)>;

// These copy as the kernel does, up to the first byte that is not accessible, with EFAULT only if
// that is the very first one. The answer is the number of bytes.
SyscallOutcome take_from_guest(SyscallCall& call, std::span<const GuestRange> ranges,
                               const Consumer& consumer);
SyscallOutcome give_to_guest(SyscallCall& call, std::span<const GuestRange> ranges,
                             const Producer& producer);

// Emulates write(2) of bytes that are already here. The file must be writable.
SyscallOutcome write_bytes(SampleState& sample, OpenFile& file, std::uint64_t offset,
                           std::span<const std::byte> bytes);

}  // namespace shadowprof
