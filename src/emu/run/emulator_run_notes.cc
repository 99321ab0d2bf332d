// The notes of a run beside its records: probes, calls, counted functions, Python's frames, and
// stacks.
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "emu/run/emulator_run.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_noted_functions = 1 << 16;
static_assert(TraceSink::max_notes_of_script ==
              2 + 2 * (PythonCode::max_text_bytes / note_text_bytes));

}  // namespace

// Adds a note of the current thread behind the last record. False if the sink has no room for more.
bool Emulator::Run::note(ProbeRecord record) {
    const auto* cursor = reinterpret_cast<const std::uint64_t*>(context_.trace_cursor);
    record.thread = threads_.current();
    return sink_.note(record, static_cast<std::size_t>(start_ - cursor));
}

// Lets the sink have what was noted, so that it has room for more.
void Emulator::Run::make_room() {
    submit_trace();
    if (pacer_.finished()) return end(SampleEnd::size);
    new_buffer();
}

// The current thread may enter or leave a counted function. False if the sink has no room for more.
// The same instruction may then come again, which the watch takes for one step.
bool Emulator::Run::follow_regions() {
    auto& regions = *e_.regions_;
    if (!regions.is_watched(pc_)) return true;
    const auto thread = threads_.current();
    const auto stack_pointer = regions.stack_pointer(pc_, cpu());
    const auto step = regions.step({.thread = thread,
                                    .birth = threads_.birth(thread),
                                    .pc = pc_,
                                    .stack_pointer = stack_pointer});
    const auto note_kind = [&](RegionEvent::Kind kind) {
        return note({.pc = pc_, .value = static_cast<std::uint64_t>(kind), .probe = region_note});
    };
    bool has_room = true;
    if (step.leaves) has_room &= note_kind(RegionEvent::Kind::leave);
    if (!step.enters) return has_room;
    has_room &= note_kind(RegionEvent::Kind::enter);
    const auto return_address = read_value<GuestAddress>(e_.memory_, {stack_pointer});
    if (return_address && regions.await_return(*return_address))
        e_.translator_.instrument(*return_address);
    return has_room;
}

// Notes what is probed of the instruction that is about to run. False if the sink has no room for
// more.
bool Emulator::Run::note_probed() {
    bool room = true;
    for (const BoundProbe& probe : e_.probes_->at(pc_)) {
        if (probe.uses_vectors())
            std::memcpy(cpu().xsave.data(), context_.xsave, cpu().xsave.size());
        const auto event = evaluate(probe, cpu(), e_.memory_, std::nullopt);
        if (!event) continue;
        room &= note({.pc = pc_,
                      .value = event->value,
                      .key = event->key,
                      .probe = event->probe,
                      .missed = event->missed});
    }
    if (const auto size = e_.probes_->allocator_at(pc_))
        room &= note({.pc = pc_, .value = allocated_bytes(*size, cpu()), .probe = allocation_note});
    return room;
}

// False if the sink has no room for more.
bool Emulator::Run::note_system_call(const BlockInfo& block) {
    if (!limits_.notes_system_calls || pacer_.level() == TraceLevel::none) return true;
    const auto number = static_cast<std::uint32_t>(cpu()[Gpr::rax]);
    if (limits_.notes_call_results)
        e_.calls_in_progress_[threads_.current()] = {.pc = block.last, .number = number};
    return note({.pc = block.last,
                 .value = number,
                 .key = cpu()[Gpr::rsp],
                 .probe = is_begun_again(block) ? repeated_call_note : system_call_note});
}

// The run ends with the current thread's call. Unless that has returned, it was not made, or the
// thread goes on elsewhere with its result.
void Emulator::Run::note_call_left(SampleEnd why) {
    const bool has_returned = why == SampleEnd::size || why == SampleEnd::no_room;
    if (!has_returned && limits_.notes_call_results)
        e_.calls_in_progress_[threads_.current()].reset();
}

// Whether the call, with which `block` ends, is the first that the thread executes.
bool Emulator::Run::is_begun_again(const BlockInfo& block) const {
    const auto* cursor = reinterpret_cast<const std::uint64_t*>(context_.trace_cursor);
    return limits_.notes_call_results && began_at_ == block.last && block.start == block.last &&
           start_ - cursor <= std::ptrdiff_t{1} + block.value_words;
}

// Finds calls that are under way since an earlier run, beside those that it has left.
void Emulator::Run::find_calls_in_progress() {
    auto& calls = e_.calls_in_progress_;
    calls.resize(threads_.size());
    for (GuestThreads::Index i = 0; i < threads_.size(); ++i) {
        const CpuState& cpu = threads_.cpu(i);
        const auto state = threads_.state(i);
        if (state != GuestThreads::State::runs && state != GuestThreads::State::stopped)
            calls[i] = {.pc = cpu.rip - syscall_instruction_bytes,
                        .number = static_cast<std::uint32_t>(cpu[Gpr::rax])};
    }
}

// Keeps the results that were not noted: until the thread's next turn, it may get other registers.
void Emulator::Run::keep_call_results() {
    auto& calls = e_.calls_in_progress_;
    calls.resize(threads_.size());
    for (GuestThreads::Index i = 0; i < threads_.size(); ++i)
        if (calls[i] && !calls[i]->result && threads_.state(i) == GuestThreads::State::runs &&
            threads_.cpu(i).rip == calls[i]->pc + syscall_instruction_bytes)
            calls[i]->result = threads_.cpu(i)[Gpr::rax];
}

// Notes what the current thread's call has returned, if the thread stands behind one or has left
// it.
void Emulator::Run::note_call_result() {
    if (!limits_.notes_call_results) return;
    e_.calls_in_progress_.resize(threads_.size());
    if (pacer_.level() == TraceLevel::none) return;
    const auto call = std::exchange(e_.calls_in_progress_[threads_.current()], {});
    if (!call || (!call->result && cpu().rip != call->pc + syscall_instruction_bytes)) return;
    const bool has_room = note({.pc = call->pc,
                                .value = call->number,
                                .key = call->result.value_or(cpu()[Gpr::rax]),
                                .probe = call_result_note});
    if (!has_room) make_room();
}

// The instruction is instrumented again when the next buffer is used.
void Emulator::Run::on_notes_full() {
    make_room();
    if (!is_over()) enter_at(pc_);
}

// Notes a frame and, before the first of its function in this run, what is known of the function.
// False if the sink has no room for more.
bool Emulator::Run::note_frame(const PythonFrame& frame, ProbeRecord note_of_frame) {
    bool has_room = true;
    if (noted_functions_.size() >= max_noted_functions) noted_functions_.clear();
    const auto mark = e_.python_->mark(frame.code);
    const auto [noted, is_new] = noted_functions_.try_emplace(frame.code, mark);
    if (is_new || std::exchange(noted->second, mark) != mark) {
        const auto code = e_.python_->code(frame.code).value_or(PythonCode{});
        has_room &= note_text(code.file);
        has_room &= note_text(code.name);
        has_room &= note({.pc = frame.code,
                          .value = code.first_line,
                          .key = code.file.size() << 32 | code.name.size(),
                          .probe = script_function_note});
    }
    note_of_frame.pc = frame.code;
    note_of_frame.value = frame.frame.value;
    note_of_frame.key = frame.previous.value;
    return note(note_of_frame) && has_room;
}

bool Emulator::Run::note_text(std::string_view text) {
    bool has_room = true;
    while (!text.empty()) has_room &= note(take_text_note(text, {.probe = script_text_note}));
    return has_room;
}

// Notes that the instruction that is about to run changes the stack. If the run ends meanwhile, the
// instruction comes again.
void Emulator::Run::note_stack_change() {
    if (pacer_.level() == TraceLevel::none) return;
    const auto change = e_.stacks_.step(pc_, cpu());
    if (!change) return;
    const auto note_one = [&](const ProbeRecord& record) {
        if (!is_over() && !note(record)) make_room();
    };
    note_one({.pc = pc_,
              .value = change->from,
              .key = change->to,
              .probe = stack_change_note,
              .missed = (change->may_leave_frames ? stack_may_leave_frames : 0) |
                        (change->returns_by_jump ? stack_returns_by_jump : 0)});
    for (const StackWatch::Words& words : change->words)
        note_one({.pc = pc_,
                  .value = words.value.value,
                  .key = words.address,
                  .probe = stack_words_note,
                  .missed = words.count});
}

// Remembers where the current thread stands, which something outside may change. A system call that
// it makes there is remembered until its next turn.
void Emulator::Run::remember_stack() {
    const auto thread = threads_.current();
    e_.stand_at_.resize(threads_.size());
    auto& stands_at = e_.stand_at_[thread];
    const Emulator::StandsAt now{.birth = threads_.birth(thread),
                                 .pc = pc_,
                                 .stack_pointer = cpu()[Gpr::rsp],
                                 .returns_from_handler = stands_at &&
                                                         stands_at->returns_from_handler &&
                                                         stands_at->pc == pc_};
    stands_at = now;
}

// Notes that a signal has given the current thread another stack pointer, or taken that back.
void Emulator::Run::note_set_stack() {
    const auto thread = threads_.current();
    e_.stand_at_.resize(threads_.size());
    const auto left = std::exchange(e_.stand_at_[thread], {});
    const auto stack_pointer = cpu()[Gpr::rsp];
    if (!left || left->birth != threads_.birth(thread) || pacer_.level() == TraceLevel::none)
        return;
    // A function that was called elsewhere, as the kernel's clocks are, has popped its address.
    const bool has_returned =
        stack_pointer == left->stack_pointer + sizeof(std::uint64_t) && !left->returns_from_handler;
    if (stack_pointer == left->stack_pointer || has_returned) return;
    if (left->returns_from_handler)
        e_.stacks_.end_interrupt(stack_pointer);
    else
        e_.stacks_.interrupt(left->stack_pointer);
    const bool has_room = note({.pc = left->pc,
                                .value = left->stack_pointer,
                                .key = stack_pointer,
                                .probe = stack_set_note,
                                .missed = left->returns_from_handler});
    if (!has_room) make_room();
}

// Notes which Python function the interpreter goes on with, or that it is left. False if the sink
// has no room for more.
bool Emulator::Run::note_python() {
    const auto step = e_.python_->step(pc_, cpu());
    if (!step) return true;
    if (!step->frame) return note({.pc = pc_, .probe = script_leave_note});
    bool has_room = true;
    for (const PythonFrame& caller : step->callers)
        has_room &= note_frame(caller, {.probe = script_stack_note, .missed = caller.is_entry});
    return note_frame(*step->frame,
                      {.probe = script_frame_note, .missed = step->frame->is_entry}) &&
           has_room;
}

// Notes the Python functions in which the current thread begins. Those for which there is no room
// are left out.
void Emulator::Run::note_python_stack() {
    const auto frames = e_.python_->frames(cpu());
    if (frames.empty()) return;
    const PythonProgram& program = e_.python_->program();
    bool has_room = note({.pc = pc_,
                          .value = program.eval_start.value,
                          .key = program.eval_end.value,
                          .probe = script_interpreter_note});
    for (std::size_t i = 0; i < frames.size() && has_room; ++i)
        has_room =
            note_frame(frames[i], {.probe = script_stack_note, .missed = frames[i].is_entry});
    has_room &= note({.pc = pc_, .probe = script_stack_end_note});
    if (!has_room) make_room();
}

}  // namespace shadowprof
