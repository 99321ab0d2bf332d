// Finds where threads leave frames of their stack at once, or go on to another stack: instructions
// that load the stack pointer from elsewhere, as longjmp, exceptions and coroutines do.
//
// Pushes, pops, calls, returns and what functions do to their own frame are no such loads: sums
// with constants, `leave`, and copies of the frame pointer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "decoder/instruction.h"
#include "emu/guest/guest_space.h"
#include "emu/trace/probe_record.h"

namespace shadowprof {

class StackWatch {
  public:
    // `memory` must outlive it.
    explicit StackWatch(GuestSpace& memory) : memory_(memory) {}

    // Whether step() is to be called before the instruction is executed.
    bool watches(const Instruction& instruction);
    // The same, for the instruction there that watches() was last called with.
    bool is_watched(GuestAddress address) const {
        return loads_.contains(address) || stores_.contains(address);
    }

    // Words that follow each other on the stack, are the same, and point to code.
    struct Words {
        GuestAddress value;
        std::uint64_t address = 0;  // of the lowest
        std::uint32_t count = 0;
    };
    struct Change {
        std::uint64_t from = 0;  // the stack pointer before the instruction
        // The stack pointer when control next leaves straight-line code: before a return has popped
        // its address, and else before that code grows the stack.
        std::uint64_t to = 0;
        // Whether both may be of one stack.
        bool may_leave_frames = false;
        // Whether the word at `to` is popped, and control goes there by a jump.
        bool returns_by_jump = false;
        // From low addresses to high ones: those between `from` and `to` if both may be of one
        // stack; those from where a thread has left this stack on, if that is near or was by a
        // signal; else those from noted_stack_bytes below `to` on. Then the one at `to`, where a
        // return address may be. If an unwinder has just replaced that by the address of a handler,
        // it is what was there before.
        std::vector<Words> words = {};
    };
    // What a thread does that is about to execute a watched instruction. Nothing: the stack only
    // grows in the frame of the function that executes.
    std::optional<Change> step(GuestAddress pc, const CpuState& cpu);
    // A signal interrupts a thread with this stack pointer. Its handler may go on anywhere above.
    void interrupt(std::uint64_t stack_pointer) { add_left(stack_pointer, max_stack_bytes); }
    // The handler has returned to there.
    void end_interrupt(std::uint64_t stack_pointer) { left_at_.erase(stack_pointer); }
    // Forgets where threads were.
    void forget() { left_at_.clear(); }

  private:
    // What lies between two addresses of one stack is looked at as far as this.
    static constexpr std::uint64_t max_stack_bytes = std::uint64_t{8} << 20;

    // How the instruction makes the new stack pointer.
    enum class Source : std::uint8_t { value, sum, address };
    struct Load {
        Instruction instruction;
        Source source = Source::value;
        // How many bytes the straight-line code behind it adds to the stack pointer, and how that
        // code ends. If it ends by a call or a jump, only those count that come before a push.
        std::int64_t behind_bytes = 0;
        Flow end = Flow::next;
        bool returns_by_jump = false;
        bool grows = false;  // what is at the stack pointer then is not on the stack yet
    };

    // A return address that is about to be replaced.
    struct Replaced {
        std::uint64_t address = 0;
        GuestAddress value;
    };

    static std::optional<Source> source_of(const Instruction& instruction);
    bool replaces_return_address(const Instruction& instruction) const;
    void remember_replaced(const Instruction& instruction, const CpuState& cpu);
    void add_top(std::uint64_t stack_pointer, std::vector<Words>& words) const;
    void look_behind(Load& load) const;
    std::optional<std::uint64_t> loaded(const Load& load, const CpuState& cpu) const;
    void add_left(std::uint64_t stack_pointer, std::uint64_t max_bytes);
    void find_words(std::uint64_t start, std::uint64_t bytes, std::vector<Words>& words) const;

    GuestSpace& memory_;
    std::unordered_map<GuestAddress, Load> loads_;
    std::unordered_map<GuestAddress, Instruction> stores_;  // of handlers of exceptions
    std::optional<Replaced> replaced_;                      // by the last of them
    // Where threads have left a stack for one far away, and how far above they may come back.
    std::map<std::uint64_t, std::uint64_t> left_at_;
};

}  // namespace shadowprof
