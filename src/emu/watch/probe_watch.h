// The emulator's side of probes: which instructions are probed, and what is left to do there.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/guest_address.h"
#include "decoder/instruction.h"
#include "probe/probe.h"

namespace shadowprof {

// Guest addresses at which the same place tests hold.
struct PlaceRange {
    GuestAddress start, end;
    std::uint64_t place_bits = 0;  // see ProbeSet

    friend bool operator==(const PlaceRange&, const PlaceRange&) = default;
};

// What there is for probes to see: those that speak of latencies see timed loads, the others all
// that is executed.
enum class Probed : std::uint8_t { executions, timed_loads };

class ProbeWatch {
  public:
    // `places` do not overlap; elsewhere no test holds.
    ProbeWatch(ProbeSet probes, std::vector<PlaceRange> places, Probed probed);

    // Whether the instruction is to be announced. What is to be done there is kept, in place of
    // what another instruction at its address had.
    bool is_probed(const Instruction& instruction);
    // What is to be done at `address`, for the instruction there that is_probed() was last asked
    // about.
    std::span<const BoundProbe> at(GuestAddress address) const;

  private:
    std::uint64_t place_bits(GuestAddress address) const;

    ProbeSet probes_;
    Probed probed_;
    std::vector<PlaceRange> places_;
    std::unordered_map<GuestAddress, std::vector<BoundProbe>> bound_;
};

}  // namespace shadowprof
