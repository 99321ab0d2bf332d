// Calling contexts: every call stack seen, as a tree. A context consists of the calls in progress
// and the function that executes, or of that function alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profile/code/block_registry.h"
#include "profile/code/index_table.h"
#include "profile/profile.h"

namespace shadowprof {

struct LeftStack;  // profile/flow/left_frames.h

// Numbers a context within one tree. Parents have smaller numbers than their children. 0 is the
// tree's root, in which nothing executes.
using ContextId = std::uint32_t;

// The outermost frame of a context, or one call in progress.
struct StackFrame {
    CodeLocation return_to;  // return address; `no_return` for the outermost
    CodeLocation function;   // entry of the executing function, as far as it is known

    static constexpr CodeLocation no_return{~std::uint32_t{0}, 0};
    friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

// The address of a call, or within it.
constexpr CodeLocation call_site(CodeLocation return_to) {
    return {return_to.module, return_to.address - 1};
}

// The function that executes a block that was called or jumped to from another function.
inline CodeLocation entered_function(const CanonicalBlock& block) {
    return block.function ? block.function->start : block.start;
}

// The result of a step of control flow.
struct ContextStep {
    ContextId context = 0;
    bool mismatch = false;  // a return that does not match the innermost call
};

class StackTree {
  public:
    // The most calls that a profile shows. Deeper stacks are cut: of a cut one, the outermost calls
    // are shown, and the function that executes.
    static constexpr std::uint32_t max_depth = 4096;
    // Deeper stacks are folded: calls beyond this limit are only counted, so that their returns
    // match.
    static constexpr std::uint32_t max_followed = std::uint32_t{1} << 16;
    // How many calls a return that does not match the innermost one is compared with. An exception
    // or a longjmp may have left frames in between.
    static constexpr int max_search = 256;

    // Without `keeps_callers`, a context is the function that executes. There are then as many
    // contexts as functions, not as ways to reach them.
    explicit StackTree(bool keeps_callers = true);

    // Returns the context of an unwound stack, innermost first: program counter, then return
    // addresses. A stack deeper than `max_depth` has the context of its innermost part.
    ContextId initial(std::span<const CodeLocation> stack);
    // Returns the context after control went from `from`, executed in `context`, to `to`. Calls
    // push and returns pop. A return to no known frame is taken for a jump (exception landing pads,
    // setcontext), except from the outermost frame, whose caller then becomes the outermost one.
    // After any step, `to` executes in its own function if that is known, so a jump into another
    // function replaces the executing one. If it is not known, only a jump through a stub or into
    // another module does.
    //
    // Without callers no return is a mismatch. Where the function of `to` is not known, a return
    // leads to the function in which a call before `to` was first seen.
    ContextStep step(ContextId context, const CanonicalBlock& from, const CanonicalBlock& to);
    // The parts of a step: a call, a return to a place, and that a function executes now.
    ContextId call(ContextId context, const StackFrame& frame);
    ContextStep return_to(ContextId context, CodeLocation place);
    ContextId enter(ContextId context, CodeLocation function) {
        return nodes_[context].frame.function == function ? context
                                                          : replace_function(context, function);
    }
    // Returns the context in which a sample that began in `context` executes its first block.
    // `context` is 0 if there is no stack.
    ContextId begin(ContextId context, const CanonicalBlock& first);
    // Returns a tree without contexts that knows in which functions calls were seen.
    StackTree without_contexts() const;
    // Returns the context of this tree that equals one of another tree. Without callers, that is
    // its function.
    ContextId copy(const StackTree& other, ContextId context);
    // Returns the child of `parent` for `frame`, which is added if need be.
    ContextId child(ContextId parent, const StackFrame& frame);

    // Returns the context of a thread in `context` that leaves its innermost calls at once: those
    // whose return addresses lie on the part of the stack that it leaves.
    ContextId leave(ContextId context, const LeftStack& stack);
    // The calls that both contexts have in progress.
    ContextId common(ContextId a, ContextId b) const;

    // The call sites (return address - 1) outermost first, then the function that executes.
    std::vector<CodeLocation> frames(ContextId context) const;
    // The call sites of the innermost `most` calls in progress, innermost first.
    std::vector<CodeLocation> callers(ContextId context, std::size_t most) const;
    ContextId parent(ContextId context) const { return nodes_[context].parent; }
    const StackFrame& frame(ContextId context) const { return nodes_[context].frame; }
    // The number of calls in progress, at most `max_followed`.
    std::size_t calls(ContextId context) const;
    // The return addresses of the outermost `most` calls in progress, outermost first.
    std::vector<CodeLocation> returns(ContextId context, std::size_t most) const;
    // If the context is cut: the one with the calls that are shown of it. 0: it is shown whole.
    ContextId cut_at(ContextId context) const { return nodes_[context].cut_at; }
    std::size_t size() const { return nodes_.size(); }
    void clear();

  private:
    struct Node {
        ContextId parent = 0;
        std::uint32_t depth = 0;
        // Calls beyond `max_followed`; then `parent` is the one at the limit, and `frame` has only
        // the function that executes.
        std::uint32_t folded = 0;
        ContextId cut_at = 0;
        ContextId last_child = 0;  // the one that was found last; 0: none
        StackFrame frame;
    };

    ContextId find_or_add(const Node& node);
    ContextId folded(ContextId limit, std::uint32_t calls, CodeLocation function);
    // The context at the limit, if this one is folded.
    ContextId followed(ContextId context) const {
        return nodes_[context].folded ? nodes_[context].parent : context;
    }
    ContextId replace_function(ContextId context, CodeLocation function);
    ContextStep step_between_frames(ContextId context, const CanonicalBlock& from,
                                    const CanonicalBlock& to);
    ContextId step_between_functions(ContextId context, const CanonicalBlock& from,
                                     const CanonicalBlock& to);

    bool keeps_callers_;
    // Without callers: the functions of calls in code whose functions are not known, by return
    // address.
    std::map<CodeLocation, CodeLocation> callers_;
    std::vector<Node> nodes_;
    IndexTable index_;
};

}  // namespace shadowprof
