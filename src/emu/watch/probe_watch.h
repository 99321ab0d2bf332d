// The emulator's side of probes and allocations: which instructions are announced, and what is
// evaluated there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/guest_address.h"
#include "decoder/instruction.h"
#include "emu/watch/allocators.h"
#include "probe/probe.h"

namespace shadowprof {

// Guest addresses at which the same place tests hold.
struct PlaceRange {
    GuestAddress start, end;
    std::uint64_t place_bits = 0;  // see ProbeSet

    friend bool operator==(const PlaceRange&, const PlaceRange&) = default;
};

// The events that probes are given: probes that use latencies see timed loads, all others see every
// execution.
enum class Probed : std::uint8_t { executions, timed_loads };

class ProbeWatch {
  public:
    // `places` must not overlap; outside of them no place test holds.
    ProbeWatch(ProbeSet probes, std::vector<PlaceRange> places, Probed probed,
               std::span<const AllocatorEntry> allocators = {});

    // Whether the instruction is to be announced. If so, its probes are kept for at(), and replace
    // those of an earlier instruction at its address.
    bool is_probed(const Instruction& instruction);
    // The same, for the instruction there that is_probed() was last called with.
    bool is_probed(GuestAddress address) const {
        return bound_.contains(address) || allocators_.contains(address);
    }
    // The probes at `address`, for the instruction there that is_probed() was last called with.
    std::span<const BoundProbe> at(GuestAddress address) const;
    // The size that the allocator which begins at `address` is asked for.
    std::optional<AllocatedSize> allocator_at(GuestAddress address) const;

  private:
    std::uint64_t place_bits(GuestAddress address) const;

    ProbeSet probes_;
    Probed probed_;
    std::vector<PlaceRange> places_;
    std::unordered_map<GuestAddress, std::vector<BoundProbe>> bound_;
    std::unordered_map<GuestAddress, AllocatedSize> allocators_;
};

}  // namespace shadowprof
