#include "profile/kinds/stacks/stack_tree.h"

#include <algorithm>

#include "profile/code/index_table.h"
#include "profile/flow/flow.h"
#include "profile/flow/left_frames.h"

namespace shadowprof {
namespace {

// Whether a jump to code without a known function leaves the current function: it comes from a
// known function or a one-jump stub (PLT), or goes to another module.
bool leaves_function(const StackFrame& frame, const CanonicalBlock& from,
                     const CanonicalBlock& to) {
    if (to.function || !is_jump(from.terminator)) return false;
    const bool stub = from.terminator == Terminator::indirect_jump && from.start == frame.function;
    return from.function || stub || from.start.module != to.start.module;
}

}  // namespace

StackTree::StackTree(bool keeps_callers) : keeps_callers_(keeps_callers) {
    clear();
}

void StackTree::clear() {
    nodes_.assign(1, Node{.frame = {StackFrame::no_return, StackFrame::no_return}});
    index_.clear();
}

ContextId StackTree::find_or_add(const Node& node) {
    const std::uint64_t hash =
        mix64(location_hash(node.frame.return_to) ^ (location_hash(node.frame.function) << 1) ^
              (static_cast<std::uint64_t>(node.folded) << 32) ^ node.parent);
    auto found = index_.find(hash, [&](std::uint32_t i) {
        const Node& other = nodes_[i];
        return other.parent == node.parent && other.folded == node.folded &&
               other.frame == node.frame;
    });
    if (found) return *found;
    index_.insert(hash, nodes_.size());
    nodes_.push_back(node);
    return static_cast<ContextId>(nodes_.size() - 1);
}

ContextId StackTree::child(ContextId parent, const StackFrame& frame) {
    const ContextId last = nodes_[parent].last_child;
    if (last != 0 && nodes_[last].frame == frame) return last;
    const Node& outer = nodes_[parent];
    const ContextId cut_at = outer.depth == max_depth ? parent : outer.cut_at;
    const ContextId child =
        find_or_add({.parent = parent, .depth = outer.depth + 1, .cut_at = cut_at, .frame = frame});
    return nodes_[parent].last_child = child;
}

ContextId StackTree::folded(ContextId limit, std::uint32_t calls, CodeLocation function) {
    if (calls == 0) return limit;
    return find_or_add({.parent = limit,
                        .depth = nodes_[limit].depth,
                        .folded = calls,
                        .cut_at = nodes_[limit].cut_at,
                        .frame = {StackFrame::no_return, function}});
}

ContextId StackTree::initial(std::span<const CodeLocation> stack) {
    if (stack.empty()) return 0;
    stack = stack.first(std::min<std::size_t>(stack.size(), keeps_callers_ ? max_depth : 1));
    ContextId context = 0;
    for (std::size_t i = stack.size(); i-- > 0;) {
        const CodeLocation function = i == 0 ? stack[0] : call_site(stack[i]);
        const bool outermost = i + 1 == stack.size();
        context = child(context, {outermost ? StackFrame::no_return : stack[i + 1], function});
    }
    return context;
}

ContextId StackTree::call(ContextId context, const StackFrame& frame) {
    const Node node = nodes_[context];
    if (node.folded) return folded(node.parent, node.folded + 1, frame.function);
    return node.depth >= max_followed ? folded(context, 1, frame.function) : child(context, frame);
}

ContextStep StackTree::return_to(ContextId context, CodeLocation place) {
    if (const Node node = nodes_[context]; node.folded)
        return {folded(node.parent, node.folded - 1, node.frame.function), false};
    ContextId at = context;
    for (int distance = 0; distance < max_search && nodes_[at].parent != 0; ++distance) {
        if (nodes_[at].frame.return_to == place) return {nodes_[at].parent, distance != 0};
        at = nodes_[at].parent;
    }
    const bool outermost = nodes_[context].parent == 0;
    return {outermost ? child(0, {StackFrame::no_return, place}) : context, true};
}

ContextId StackTree::replace_function(ContextId context, CodeLocation function) {
    const Node node = nodes_[context];
    if (context == 0 || node.frame.function == function) return context;
    if (node.folded) return folded(node.parent, node.folded, function);
    return child(node.parent, {node.frame.return_to, function});
}

ContextStep StackTree::step(ContextId context, const CanonicalBlock& from,
                            const CanonicalBlock& to) {
    if (!keeps_callers_) return {step_between_functions(context, from, to), false};
    const ContextStep step = step_between_frames(context, from, to);
    if (!to.function) return step;
    return {replace_function(step.context, to.function->start), step.mismatch};
}

ContextStep StackTree::step_between_frames(ContextId context, const CanonicalBlock& from,
                                           const CanonicalBlock& to) {
    // A call to the next instruction only reads the program counter.
    if (is_call(from.terminator) && to.start != from.end)
        return {call(context, {from.end, entered_function(to)}), false};
    if (from.terminator == Terminator::ret) return return_to(context, to.start);
    if (leaves_function(nodes_[context].frame, from, to))
        return {replace_function(context, to.start), false};
    return {context, false};
}

ContextId StackTree::step_between_functions(ContextId context, const CanonicalBlock& from,
                                            const CanonicalBlock& to) {
    const StackFrame& frame = nodes_[context].frame;
    const bool is_entry = is_call(from.terminator) && to.start != from.end;
    if (is_entry && !from.function) callers_.try_emplace(from.end, frame.function);
    if (to.function) return replace_function(context, to.function->start);
    if (is_entry) return replace_function(context, to.start);
    if (from.terminator == Terminator::ret) {
        if (const auto caller = callers_.find(to.start); caller != callers_.end())
            return replace_function(context, caller->second);
        const bool leaves = from.function || from.start.module != to.start.module;
        return leaves ? replace_function(context, to.start) : context;
    }
    return leaves_function(frame, from, to) ? replace_function(context, to.start) : context;
}

ContextId StackTree::begin(ContextId context, const CanonicalBlock& first) {
    if (context == 0) context = initial(std::span(&first.start, 1));
    return first.function ? replace_function(context, first.function->start) : context;
}

StackTree StackTree::without_contexts() const {
    StackTree tree(keeps_callers_);
    tree.callers_ = callers_;
    return tree;
}

ContextId StackTree::copy(const StackTree& other, ContextId context) {
    const Node& node = other.nodes_[context];
    if (context != 0 && !keeps_callers_)
        return child(0, {StackFrame::no_return, node.frame.function});
    std::vector<ContextId> chain;
    for (ContextId at = other.followed(context); at != 0; at = other.nodes_[at].parent)
        chain.push_back(at);
    ContextId here = 0;
    for (std::size_t i = chain.size(); i-- > 0;) here = child(here, other.nodes_[chain[i]].frame);
    return folded(here, node.folded, node.frame.function);
}

ContextId StackTree::leave(ContextId context, const LeftStack& stack) {
    LeftFrames frames(stack);
    ContextId here = followed(context);
    for (ContextId at = here; frames.goes_on() && nodes_[at].parent != 0; at = nodes_[at].parent)
        frames.look_at(nodes_[at].frame.return_to);
    if (frames.left() == 0) return context;
    for (std::size_t i = 0; i < frames.left(); ++i) here = nodes_[here].parent;
    return here;
}

ContextId StackTree::common(ContextId a, ContextId b) const {
    a = followed(a);
    b = followed(b);
    while (a != b) {
        ContextId& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
        deeper = nodes_[deeper].parent;
    }
    return a;
}

std::vector<CodeLocation> StackTree::frames(ContextId context) const {
    std::vector<CodeLocation> frames;
    if (context == 0) return frames;
    frames.push_back(nodes_[context].frame.function);
    if (cut_at(context) != 0) context = cut_at(context);
    for (ContextId at = context; at != 0; at = nodes_[at].parent)
        if (nodes_[at].frame.return_to != StackFrame::no_return)
            frames.push_back(call_site(nodes_[at].frame.return_to));
    std::reverse(frames.begin(), frames.end());
    return frames;
}

std::size_t StackTree::calls(ContextId context) const {
    const std::uint32_t depth = nodes_[context].depth;
    return depth == 0 ? 0 : depth - 1;
}

std::vector<CodeLocation> StackTree::returns(ContextId context, std::size_t most) const {
    std::vector<CodeLocation> returns;
    if (cut_at(context) != 0) context = cut_at(context);
    for (ContextId at = context; at != 0; at = nodes_[at].parent)
        if (nodes_[at].frame.return_to != StackFrame::no_return)
            returns.push_back(nodes_[at].frame.return_to);
    std::reverse(returns.begin(), returns.end());
    returns.resize(std::min(returns.size(), most));
    return returns;
}

std::vector<CodeLocation> StackTree::callers(ContextId context, std::size_t most) const {
    std::vector<CodeLocation> callers;
    for (ContextId at = followed(context); at != 0 && callers.size() < most; at = nodes_[at].parent)
        if (nodes_[at].frame.return_to != StackFrame::no_return)
            callers.push_back(call_site(nodes_[at].frame.return_to));
    return callers;
}

}  // namespace shadowprof
