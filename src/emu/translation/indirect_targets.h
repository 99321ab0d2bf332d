// The targets of translated code's indirect branches: for each level a table of offsets into the
// code, indexed by the low half of the guest address. Entries that were never set are 0, the offset
// of the stub for a miss.
//
// Nearly all of the table is never used and stays inaccessible, as guest accesses to it must fault
// (docs/verification.md). A part becomes accessible when its first entry is set. A branch that
// reads an inaccessible part faults and then goes to the stub for a miss: see is_miss().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/guest_address.h"
#include "emu/trace/trace.h"
#include "emu/translation/code_buffer.h"

namespace shadowprof {

class IndirectTargets {
    static constexpr std::size_t level_bytes = sizeof(std::uint32_t) << 32;

  public:
    static constexpr std::size_t memory_bytes = trace_levels * level_bytes;

    // `memory` must be memory_bytes of private, anonymous, inaccessible memory, and begin within 2
    // GiB of `code`. Entries are offsets from `code`, which begins with the stub for a miss.
    IndirectTargets(std::uint8_t* memory, const std::uint8_t* code);

    // From now on, branches of `level` to `target` go to `entry`, which must check that
    // ExecutionContext::target is its own address: targets 4 GiB apart share an entry. If the
    // kernel allows no memory, such branches miss.
    void set(TraceLevel level, GuestAddress target, const std::uint8_t* entry);
    // From now on, branches of `level` to `target` miss.
    void forget(TraceLevel level, GuestAddress target);
    // From now on, every branch misses.
    void clear();

    // Appends a branch to the guest address in scratch_a.
    void emit_branch(TraceLevel level, CodeBuffer& out) const;
    // Whether the instruction of translated code at `host_rip` is such a branch, and faulted at
    // `host_address` because its target's part of the table is not accessible.
    bool is_miss(const std::uint8_t* host_rip, std::uint64_t host_address) const;

  private:
    static constexpr std::size_t part_bytes = 64 << 10;

    std::uint32_t* entry_of(TraceLevel level, GuestAddress target) const;
    std::size_t part_of(const std::uint32_t* entry) const;

    std::uint8_t* memory_;
    const std::uint8_t* code_;
    std::vector<bool> accessible_;  // indexed by part
};

}  // namespace shadowprof
