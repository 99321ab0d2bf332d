// Which bytes an instruction is about to access.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cpu_state.h"
#include "decoder/instruction.h"

namespace shadowprof {

struct Access {
    GuestAddress address;
    std::uint64_t size_bytes = 0;
    bool reads = false;
    // One load of at most 64 bytes that is neither locked nor masked nor from a string instruction.
    bool is_plain_load = false;
};

// At most two operands in memory, and the stack.
class AccessList {
  public:
    void add(const Access& access) { accesses_[count_++] = access; }
    const Access* begin() const { return accesses_.data(); }
    const Access* end() const { return accesses_.data() + count_; }
    std::size_t size() const { return count_; }
    bool is_full() const { return count_ == accesses_.size(); }

  private:
    std::array<Access, 4> accesses_{};
    std::size_t count_ = 0;
};

// The most that a repeated string instruction may access.
inline constexpr std::uint64_t max_string_bytes = 16 * 1024;

// Computes accesses from general registers and segment bases; `cpu.rip` must be the instruction's.
// A masked access counts with all bytes that it could reach. Nothing if these registers do not
// determine the accesses: gathers and scatters, bit strings indexed by a register, state areas,
// ENTER, and long or downward string instructions.
std::optional<AccessList> accesses_of(const Instruction& instruction, const CpuState& cpu);

// Whether the first access to an address that is not canonical goes by the stack's segment. The
// processor then raises #SS, and otherwise #GP (Intel SDM vol. 1, 3.3.7.1). It raises #GP, too, for
// an operand that must be aligned and is not.
bool faults_in_stack_segment(const Instruction& instruction, const CpuState& cpu);

}  // namespace shadowprof
