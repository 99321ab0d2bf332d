// Puts the functions of scripts into calling contexts: each is a call in progress between the
// interpreter and its caller. What is known of them comes as notes (emu/trace/probe_record.h),
// which are hostile.
//
// An interpreter may be called for a function, which then calls others without a call of the
// interpreter. So a context has all functions for which one call of the interpreter executes, the
// innermost last. A frame that comes again goes on: what it called has returned. A frame that was
// called from another one than the innermost is of another coroutine, as greenlets are: then the
// frames that it was called from take the place of those of this call of the interpreter. A
// coroutine begins with a frame that was called from none, on top of another one's stack, which is
// none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/guest_address.h"
#include "emu/trace/probe_record.h"
#include "profile/code/script_functions.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof {

constexpr bool is_script_note(const ProbeRecord& record) {
    return record.probe <= script_function_note && record.probe >= script_stack_end_note;
}

class ScriptFrames {
  public:
    // `functions` must outlive it.
    explicit ScriptFrames(ScriptFunctions& functions) : functions_(functions) {}

    // Forgets all threads, and all functions that notes have named.
    void begin_sample();
    // A thread begins with this stack, the innermost address first.
    void begin_thread(std::uint32_t thread, std::span<const GuestAddress> stack);

    // Takes script_text_note and script_function_note.
    void name_function(const ProbeRecord& note);
    // Takes script_interpreter_note and script_stack_note of a thread that begins. Of a thread that
    // has begun, a script_stack_note tells of a frame that goes on later.
    void add_to_stack(const ProbeRecord& note);
    // The stack that begin_thread() was called with.
    std::span<const GuestAddress> native_stack(std::uint32_t thread) {
        return thread_of(thread).stack;
    }
    // At script_stack_end_note: the thread's stack with its functions. `native` are the locations
    // of native_stack().
    std::vector<CodeLocation> end_stack(std::uint32_t thread, std::span<const CodeLocation> native);
    // The context in which a thread goes on that is in `at`: by script_frame_note, and by
    // script_leave_note.
    ContextId enter(StackTree& tree, ContextId at, const ProbeRecord& note);
    ContextId leave(const StackTree& tree, ContextId at, const ProbeRecord& note);

    // A function for which the interpreter executes.
    struct Frame {
        std::uint64_t frame = 0;  // its address
        // StackTree::calls() where the function executes, and where the interpreter was called.
        std::size_t calls = 0, native_calls = 0;
    };
    // The functions of a stack that the thread leaves for another one, the outermost first.
    std::vector<Frame> suspend(std::uint32_t thread) {
        return std::exchange(thread_of(thread).frames, {});
    }
    void resume(std::uint32_t thread, std::vector<Frame> frames) {
        thread_of(thread).frames = std::move(frames);
    }

  private:
    static constexpr std::size_t max_functions = 1 << 16;
    static constexpr std::size_t max_frames = 1 << 14;
    static constexpr std::size_t max_known_frames = 1 << 16;

    struct StackFrameNote {
        ProbeRecord note;
        CodeLocation place;
    };
    struct KnownFrame {
        CodeLocation place;
        std::uint64_t previous = 0;
        bool is_entry = false;
    };
    struct Thread {
        std::vector<GuestAddress> stack;
        GuestAddress interpreter_start, interpreter_end;
        std::vector<StackFrameNote> begins_in;  // the innermost first
        std::vector<Frame> frames;              // the outermost first
    };

    Thread& thread_of(std::uint32_t thread);
    CodeLocation place_of(GuestAddress function);
    CodeLocation place(std::string_view file, std::uint32_t line, std::string_view name);
    bool is_script(CodeLocation place) const {
        return place.module < is_script_.size() && is_script_[place.module];
    }
    bool is_script_call(const StackTree& tree, ContextId at) const {
        return tree.parent(at) != 0 && is_script(tree.frame(at).return_to);
    }
    ContextId without_scripts(const StackTree& tree, ContextId at) const;
    std::vector<std::size_t> calls_of_interpreter(const Thread& thread) const;
    void remember(const ProbeRecord& note);
    struct Caller {
        std::uint64_t frame = 0;
        CodeLocation place;
    };
    std::vector<Caller> known_callers(const ProbeRecord& note) const;
    // A context in a call of the interpreter, which was called where a context has `native_calls`.
    struct Call {
        ContextId at = 0;
        std::size_t native_calls = 0;
    };
    static void push(StackTree& tree, Call& call, Thread& thread, std::uint64_t frame,
                     CodeLocation place);
    Call go_back(StackTree& tree, Call from, Thread& thread, const ProbeRecord& note) const;

    ScriptFunctions& functions_;
    std::vector<bool> is_script_;  // by module
    std::string text_;             // of script_text_notes, for the next function
    std::unordered_map<GuestAddress, CodeLocation> places_;
    std::unordered_map<std::uint64_t, KnownFrame> known_frames_;  // by their addresses
    std::vector<Thread> threads_;
};

}  // namespace shadowprof
