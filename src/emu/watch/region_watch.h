// Finds where threads enter functions that are counted, and where they leave them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "decoder/instruction.h"

namespace shadowprof {

class RegionWatch {
  public:
    // The entries of the functions. What threads are in stays as it is.
    void set_entries(std::vector<GuestAddress> entries) {
        entries_ = {entries.begin(), entries.end()};
    }
    // Whether step() is to be called before the instruction is executed. Besides entries and
    // returns these are instructions that load the stack pointer from a register, as longjmp and
    // exceptions do.
    bool watches(const Instruction& instruction);
    // The same, for the instruction there that watches() was last called with.
    bool is_watched(GuestAddress address) const {
        return entries_.contains(address) || returns_.contains(address) || loads_.contains(address);
    }

    // A thread that is about to execute a watched instruction. `birth` tells threads with the same
    // index apart.
    struct Place {
        std::uint32_t thread = 0;
        std::uint64_t birth = 0;
        GuestAddress pc;
        std::uint64_t stack_pointer = 0;  // as stack_pointer() says
    };
    struct Step {
        bool leaves = false;  // comes first
        bool enters = false;
    };
    // Only the outermost of the calls in progress counts. It has ended when the stack pointer is
    // above the place of its return address.
    Step step(const Place& place);
    // The stack pointer, or if the watched instruction loads it, what a return behind that leaves
    // in it: exceptions go on by one (__builtin_eh_return).
    std::uint64_t stack_pointer(GuestAddress pc, const CpuState& cpu) const;
    // The call that was entered last will return to `address`. Returns whether that is watched only
    // from now on.
    bool await_return(GuestAddress address) { return returns_.insert(address).second; }

  private:
    struct Thread {
        std::uint64_t birth = 0;
        std::optional<std::uint64_t> entered_at = {};  // the stack pointer, at the return address
    };

    std::unordered_set<GuestAddress> entries_, returns_;
    std::unordered_map<GuestAddress, Gpr> loads_;  // the source
    std::vector<Thread> threads_;
};

}  // namespace shadowprof
