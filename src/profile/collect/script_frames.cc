#include "profile/collect/script_frames.h"

#include <algorithm>

namespace shadowprof {
namespace {

constexpr std::size_t max_text_bytes = 1024;
// Of one function, in one call of the interpreter, that are looked for at once.
constexpr std::size_t max_callers = 1 << 12;

// The return address that stands for a function.
CodeLocation return_to(CodeLocation place) {
    return {place.module, place.address + 1};
}

}  // namespace

void ScriptFrames::begin_sample() {
    threads_.clear();
    places_.clear();
    known_frames_.clear();
    text_.clear();
}

ScriptFrames::Thread& ScriptFrames::thread_of(std::uint32_t thread) {
    if (thread >= threads_.size()) threads_.resize(thread + std::size_t{1});
    return threads_[thread];
}

void ScriptFrames::begin_thread(std::uint32_t thread, std::span<const GuestAddress> stack) {
    thread_of(thread) = {.stack = {stack.begin(), stack.end()}};
}

void ScriptFrames::name_function(const ProbeRecord& note) {
    if (note.probe == script_text_note) {
        if (text_.size() > max_text_bytes) return;
        const auto bytes = text_bytes(note);
        text_.append(bytes.data(), bytes.size());
        return;
    }
    const std::size_t file_bytes = note.key >> 32, name_bytes = note.key & 0xffff'ffff;
    const std::size_t name_at =
        (file_bytes + note_text_bytes - 1) / note_text_bytes * note_text_bytes;
    const std::string text = std::exchange(text_, {});
    if (name_at + name_bytes > text.size() || places_.size() >= max_functions) return;
    const auto line = static_cast<std::uint32_t>(note.value);
    places_.insert_or_assign(note.pc, place(std::string_view(text).substr(0, file_bytes), line,
                                            std::string_view(text).substr(name_at, name_bytes)));
}

CodeLocation ScriptFrames::place_of(GuestAddress function) {
    const auto known = places_.find(function);
    return known != places_.end() ? known->second : place({}, 0, "(unknown)");
}

// Remembers that the location's module is a script.
CodeLocation ScriptFrames::place(std::string_view file, std::uint32_t line, std::string_view name) {
    const auto place = functions_.add(file, line, name);
    if (place.module >= is_script_.size()) is_script_.resize(place.module + std::size_t{1});
    is_script_[place.module] = true;
    return place;
}

void ScriptFrames::remember(const ProbeRecord& note) {
    if (known_frames_.size() >= max_known_frames) known_frames_.clear();
    known_frames_.insert_or_assign(note.value,
                                   KnownFrame{place_of(note.pc), note.key, note.missed != 0});
}

void ScriptFrames::add_to_stack(const ProbeRecord& note) {
    Thread& thread = thread_of(note.thread);
    if (note.probe == script_stack_note) remember(note);
    if (note.probe == script_interpreter_note) {
        thread.interpreter_start = {note.value};
        thread.interpreter_end = {note.key};
        thread.begins_in.clear();
    } else if (thread.begins_in.size() < max_frames) {
        thread.begins_in.push_back({note, place_of(note.pc)});
    }
}

// Which of the stack's addresses are in the interpreter, the innermost first.
std::vector<std::size_t> ScriptFrames::calls_of_interpreter(const Thread& thread) const {
    std::vector<std::size_t> calls;
    for (std::size_t i = 0; i < thread.stack.size(); ++i) {
        const auto at = i == 0 ? thread.stack[i] : thread.stack[i] - 1;
        if (at >= thread.interpreter_start && at < thread.interpreter_end) calls.push_back(i);
    }
    return calls;
}

// The outermost call of the interpreter executes the outermost functions. An interpreter that is
// about to begin or to end has none. If not all is known, what is innermost fits together.
std::vector<CodeLocation> ScriptFrames::end_stack(std::uint32_t number,
                                                  std::span<const CodeLocation> native) {
    Thread& thread = thread_of(number);
    const auto begins_in = std::exchange(thread.begins_in, {});
    const auto calls = calls_of_interpreter(thread);
    const auto entries = static_cast<std::size_t>(std::ranges::count_if(
        begins_in, [](const StackFrameNote& frame) { return frame.note.missed != 0; }));
    const bool is_whole = !begins_in.empty() && begins_in.back().note.key == 0;
    std::size_t next_call = is_whole && calls.size() > entries ? calls.size() - entries : 0;

    std::vector<CodeLocation> stack;
    // By their places in `stack`.
    std::vector<std::pair<std::size_t, Frame>> placed;
    std::size_t frame = 0;
    const auto add_functions_of_one_call = [&] {
        const auto first = placed.size();
        while (frame < begins_in.size()) {
            const auto& [note, place] = begins_in[frame++];
            placed.push_back({stack.size(), {.frame = note.value}});
            stack.push_back(return_to(place));
            if (note.missed != 0) break;
        }
        // For now, where the stack goes on behind the call.
        for (auto each = first; each < placed.size(); ++each)
            placed[each].second.native_calls = stack.size();
    };
    for (std::size_t i = 0; i < native.size(); ++i) {
        stack.push_back(native[i]);
        if (next_call >= calls.size() || calls[next_call] != i) continue;
        ++next_call;
        add_functions_of_one_call();
    }
    while (frame < begins_in.size()) add_functions_of_one_call();
    if (stack.size() > StackTree::max_depth) return {native.begin(), native.end()};
    thread.frames.clear();
    for (auto each = placed.rbegin(); each != placed.rend(); ++each) {
        auto& [at, of] = *each;
        thread.frames.push_back({.frame = of.frame,
                                 .calls = stack.size() - at,
                                 .native_calls = stack.size() - of.native_calls});
    }
    return stack;
}

ContextId ScriptFrames::without_scripts(const StackTree& tree, ContextId at) const {
    while (is_script_call(tree, at)) at = tree.parent(at);
    return at;
}

void ScriptFrames::push(StackTree& tree, Call& call, Thread& thread, std::uint64_t frame,
                        CodeLocation place) {
    call.at = tree.call(call.at, {return_to(place), tree.frame(call.at).function});
    if (thread.frames.size() < max_frames)
        thread.frames.push_back(
            {.frame = frame, .calls = tree.calls(call.at), .native_calls = call.native_calls});
}

// The frames from which the function of `note` was called by the same call of the interpreter, the
// innermost first.
std::vector<ScriptFrames::Caller> ScriptFrames::known_callers(const ProbeRecord& note) const {
    std::vector<Caller> callers;
    bool is_entry = note.missed != 0;
    for (std::uint64_t frame = note.key; !is_entry && callers.size() < max_callers;) {
        const auto known = known_frames_.find(frame);
        if (known == known_frames_.end()) break;
        callers.push_back({frame, known->second.place});
        is_entry = known->second.is_entry;
        frame = known->second.previous;
    }
    return callers;
}

// Leaves the frame of `note` if it is in progress, and goes to that which it was called from. A
// frame of which nothing is known was called by the innermost one.
ScriptFrames::Call ScriptFrames::go_back(StackTree& tree, Call from, Thread& thread,
                                         const ProbeRecord& note) const {
    auto& frames = thread.frames;
    const auto go_to = [&](std::size_t kept) {
        frames.resize(kept);
        const auto calls =
            kept == 0 ? from.native_calls : std::max(frames.back().calls, from.native_calls);
        while (tree.calls(from.at) > calls) from.at = tree.parent(from.at);
        return from;
    };
    std::size_t outer = frames.size(), caller = 0;
    for (; outer > 0 && frames[outer - 1].calls > from.native_calls; --outer) {
        if (frames[outer - 1].frame == note.value) return go_to(outer - 1);
        if (caller == 0 && frames[outer - 1].frame == note.key) caller = outer;
    }
    if (caller != 0 && note.missed == 0) return go_to(caller);
    const bool is_entry = note.missed != 0 || (outer > 0 && frames[outer - 1].frame == note.key);
    if (is_entry && note.key == 0 && outer > 0) {
        frames.clear();
        return {tree.child(0, {StackFrame::no_return, tree.frame(from.at).function}), 0};
    }
    const auto callers = is_entry ? std::vector<Caller>{} : known_callers(note);
    if (!is_entry && callers.empty()) return from;
    from = go_to(outer);
    for (auto each = callers.rbegin(); each != callers.rend(); ++each)
        if (tree.calls(from.at) + 2 <= StackTree::max_depth)
            push(tree, from, thread, each->frame, each->place);
    return from;
}

ContextId ScriptFrames::enter(StackTree& tree, ContextId at, const ProbeRecord& note) {
    Thread& thread = thread_of(note.thread);
    auto& frames = thread.frames;
    remember(note);
    if (at == 0 || tree.calls(at) + 2 > StackTree::max_depth) return at;
    while (!frames.empty() && frames.back().calls > tree.calls(at)) frames.pop_back();
    const bool is_known = !frames.empty() && frames.back().calls == tree.calls(at);
    Call call{at, is_known ? frames.back().native_calls : tree.calls(without_scripts(tree, at))};
    const bool is_called = is_known && frames.back().frame == note.key && note.missed == 0;
    if (!is_called) call = go_back(tree, call, thread, note);
    push(tree, call, thread, note.value, place_of(note.pc));
    return call.at;
}

ContextId ScriptFrames::leave(const StackTree& tree, ContextId at, const ProbeRecord& note) {
    auto& frames = thread_of(note.thread).frames;
    at = without_scripts(tree, at);
    while (!frames.empty() && frames.back().calls > tree.calls(at)) frames.pop_back();
    return at;
}

}  // namespace shadowprof
