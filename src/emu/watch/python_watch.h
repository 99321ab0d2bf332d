// Finds which Python functions a CPython executes: where its interpreter goes on with another
// function's frame, and which frames there are.
//
// The interpreter keeps the frame that executes in memory. In CPython 3.11 and 3.12 that is a
// variable on its own stack, later a member of the thread's state. Instructions of the interpreter
// that may write there are looked for in its code, and announced behind the write, when it is also
// known which frame the frame was called from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "base/memory_reader.h"
#include "decoder/instruction.h"
#include "emu/watch/python_layout.h"

namespace shadowprof {

struct PythonFrame {
    GuestAddress frame, code;
    GuestAddress previous;  // the frame that it was called from, of a function; 0: none
    bool is_entry = false;  // the interpreter was called for it
};

// What is known of a function. Texts are UTF-8, and cut if they are long.
struct PythonCode {
    static constexpr std::size_t max_text_bytes = 192;

    std::string file, name;
    std::uint32_t first_line = 0;
};

class PythonWatch {
  public:
    static constexpr std::size_t max_frames = 256;

    // Needs a version that python_layout() knows. `memory`, in which guest code is looked up, must
    // outlive it.
    PythonWatch(const PythonProgram& program, MemoryReader& memory)
        : program_(program), layout_(*python_layout(program.version)), memory_(memory) {}

    // Whether the instruction is to be announced. Reads the interpreter's code when it is first
    // asked about an instruction there.
    bool watches(GuestAddress address);
    bool is_watched(GuestAddress address) const { return events_.contains(address); }

    enum class Event : std::uint8_t { frame_set, leaves };
    struct Step {
        // The interpreter goes on with this frame; nothing: it is left.
        std::optional<PythonFrame> frame;
        // If the frame was neither called by the last one nor has called it, as where greenlets
        // hand over to each other: the frames that it was called from, the innermost first.
        std::vector<PythonFrame> callers = {};
    };
    // What happens at a watched instruction that a thread is about to execute. Nothing: the thread
    // goes on with the frame that it had.
    std::optional<Step> step(GuestAddress pc, const CpuState& cpu);
    // The innermost frames of a thread that begins, at most max_frames, the innermost first. step()
    // then goes on from there.
    std::vector<PythonFrame> frames(const CpuState& cpu);
    // Tells functions apart whose code has had the same place, one after the other.
    std::uint64_t mark(GuestAddress code);
    // Nothing if the memory has no code of a function there.
    std::optional<PythonCode> code(GuestAddress code);

    const PythonProgram& program() const { return program_; }

  private:
    // Where the interpreter keeps the frame that executes, if that is on its stack.
    struct StackSlot {
        ZydisRegister base = ZYDIS_REGISTER_NONE;
        std::int64_t offset = 0;
    };

    void find_events();
    void find_stack_slot();
    GuestAddress behind_caller(const Instruction& frame_store);
    void look_at(const Instruction& instruction);
    void look_at_cold_code(std::vector<GuestAddress> entries);
    bool writes_slot(const Instruction& instruction) const;
    std::optional<PythonFrame> frame(GuestAddress at);
    std::vector<PythonFrame> frames_from(GuestAddress at);
    std::vector<PythonFrame> callers_elsewhere(const PythonFrame& frame,
                                               const std::optional<PythonFrame>& last);
    bool is_of_function(GuestAddress frame);
    std::optional<GuestAddress> thread_state(const CpuState& cpu);
    std::optional<GuestAddress> current_frame(const CpuState& cpu);
    std::optional<std::string> text(GuestAddress at);

    template <typename T>
    std::optional<T> value(GuestAddress base, std::uint64_t offset) {
        return read_value<T>(memory_, base + offset);
    }

    const PythonProgram program_;
    const PythonLayout& layout_;
    MemoryReader& memory_;
    bool has_events_ = false;
    std::optional<StackSlot> slot_;
    std::unordered_map<GuestAddress, Event> events_;
    std::unordered_map<std::uint64_t, GuestAddress> thread_states_;  // by the base of FS
    // What step() has seen last of a thread, where its state has the frame.
    struct Thread {
        GuestAddress frame;
        GuestAddress caller;  // of the interpreter that is being left; 0: none is
        std::optional<PythonFrame> function = {};  // the innermost that is in progress
    };
    std::unordered_map<std::uint64_t, Thread> threads_;  // by the base of FS
};

}  // namespace shadowprof
