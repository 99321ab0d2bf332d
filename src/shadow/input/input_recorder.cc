#include "shadow/input/input_recorder.h"

#include <asm/unistd.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text/status_field.h"
#include "guest_kernel/environment/environment_proc.h"
#include "guest_kernel/environment/environment_proc_text.h"
#include "guest_kernel/input/input_calls.h"
#include "guest_kernel/state/descriptor_table.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/input/input_memory.h"

namespace shadowprof {
namespace {

// Uses a thread's id, as the process's own directory shows nothing once its leader has ended.
std::string descriptor_path(pid_t tid, std::int32_t fd) {
    return fmt::format("/proc/{}/fd/{}", tid, fd);
}

// Whether a sample asks for recorded input at this descriptor. The sample decides the same way for
// its own.
bool is_input_descriptor(pid_t tid, std::int32_t fd) {
    const auto status = status_at(AT_FDCWD, descriptor_path(tid, fd).c_str());
    return status && is_input(kind_of(*status));
}

// Nothing for a file: what a sample would read from it could not be recorded.
std::optional<NewDescriptor> describe_new(pid_t tid, std::int32_t fd) {
    NewDescriptor descriptor{.fd = fd, .facts = {}};
    const auto status = status_at(AT_FDCWD, descriptor_path(tid, fd).c_str());
    const auto text = read_proc_file(fmt::format("/proc/{}/fdinfo/{}", tid, fd));
    if (!status || status->is_regular() || !text || !parse_fdinfo(*text, descriptor.facts))
        return std::nullopt;
    descriptor.facts.status = *status;
    descriptor.facts.offset_known = 1;
    return descriptor;
}

// Whether the program handles the signal itself.
bool is_caught(pid_t tid, int signal) {
    const auto status = read_proc_file(fmt::format("/proc/{}/status", tid));
    if (!status) return true;
    const auto caught = parse_numbers(status_field(*status, "SigCgt"), 16);
    return caught.empty() || (caught[0] >> (signal - 1) & 1) != 0;
}

InputCall call_of(const SyscallStop& stop) {
    return {.number = static_cast<std::uint32_t>(stop.number),
            .arguments = stop.arguments,
            .instruction_end = stop.instruction_end.value,
            .stack = stop.stack.value};
}

// The kernel enters restart_syscall when it restarts a call with the rest of its time-out.
bool begins_anew(const InputCall& interrupted, InputCall entered) {
    if (entered.number == __NR_restart_syscall) entered.number = interrupted.number;
    return is_same_call(interrupted, entered);
}

}  // namespace

InputRecorder::Lease::~Lease() {
    if (recording_) recorder_->end(*recording_);
}

InputRecorder::Lease InputRecorder::record(std::span<const pid_t> tids, std::uint64_t max_stops) {
    // Nothing is known of threads that were not watched, and they are in no call.
    for (const pid_t tid : tids)
        if (!watches(tid)) threads_[tid] = {};
    live_.push_back({std::make_shared<InputRecording>(tids), max_stops});
    return {*this, live_.back().recording};
}

void InputRecorder::end(const InputRecording& recording) {
    const auto found = std::ranges::find_if(
        live_, [&](const auto& each) { return each.recording.get() == &recording; });
    if (found == live_.end()) return;
    found->recording->cut_all();
    live_.erase(found);
    std::erase_if(threads_, [this](const auto& entry) { return !watches(entry.first); });
}

bool InputRecorder::watches(pid_t tid) const {
    return std::ranges::any_of(live_,
                               [tid](const auto& each) { return each.recording->wants(tid); });
}

void InputRecorder::on_syscall_stop(const StoppedThread& thread) {
    const auto start = Clock::now();
    ++totals_.stops;
    count_stop(thread.tid());
    const auto found = threads_.find(thread.tid());
    if (found != threads_.end()) {
        const auto stop = read_syscall_stop(thread);
        if (!stop)
            cut(thread.tid());
        else if (stop->is_entry)
            on_entry(thread.tid(), found->second, *stop);
        else
            on_exit(thread.tid(), found->second, *stop);
    }
    totals_.handling_ns += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// Input that was recorded before the cut can still be taken.
void InputRecorder::count_stop(pid_t tid) {
    for (auto& each : live_)
        if (each.recording->wants(tid) && --each.stops_left == 0) each.recording->cut_all();
}

// A handler's input must not be mistaken for the thread's own, since the sample runs no handler.
void InputRecorder::on_entry(pid_t tid, ThreadState& thread, const SyscallStop& stop) {
    const InputCall call = call_of(stop);
    if (call.number == __NR_rt_sigreturn) {
        thread.handlers = std::max(thread.handlers - 1, 0);
        return;
    }
    if (thread.handlers > 0) {
        if (find_input_call(call)) cut(tid);
        return;
    }
    if (thread.open && thread.open->restarts) {
        // Otherwise it did not begin again, for whatever reason.
        if (!begins_anew(thread.open->call, call)) return cut(tid);
        thread.open->restarts = false;
        return;
    }
    thread.open.reset();
    if (find_input_call(call)) open_call(tid, thread, call);
}

void InputRecorder::open_call(pid_t tid, ThreadState& thread, const InputCall& call) {
    if (find_input_call(call)->by_descriptor &&
        !is_input_descriptor(tid, static_cast<std::int32_t>(call.arguments[0])))
        return;
    ProcessMemory memory(tid);
    auto arguments = argument_memory(call, memory);
    if (!arguments) return cut(tid);
    thread.open = OpenCall{call, std::move(*arguments), Clock::now()};
}

void InputRecorder::on_exit(pid_t tid, ThreadState& thread, const SyscallStop& stop) {
    if (thread.handlers > 0 || !thread.open) return;
    if (thread.open->restarts) return on_return_from_handler(tid, thread, stop);
    thread.open->restarts = stop.restarts();
    if (thread.open->restarts) return;
    // A sample cannot be interrupted like the program, perhaps by our own stop.
    if (stop.result == -EINTR || !finish_call(tid, *thread.open, stop.result)) cut(tid);
    thread.open.reset();
}

// The thread goes on either at the interrupted call, which begins again, or after it, if the call
// has failed.
void InputRecorder::on_return_from_handler(pid_t tid, ThreadState& thread,
                                           const SyscallStop& stop) {
    if (stop.instruction_end.value != thread.open->call.instruction_end) return;
    cut(tid);
    thread.open.reset();
}

bool InputRecorder::finish_call(pid_t tid, const OpenCall& open, std::int64_t value) {
    ProcessMemory memory(tid);
    auto written =
        written_memory(open.call, value, open.arguments, memory, InputRecording::max_bytes);
    if (!written) return false;
    auto input = std::make_shared<RecordedInput>();
    for (const std::int32_t fd : made_descriptors(open.call, value, open.arguments, *written)) {
        const auto descriptor = describe_new(tid, fd);
        if (!descriptor) return false;
        input->descriptors.push_back(*descriptor);
    }
    input->call = open.call;
    input->value = value;
    input->duration_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - open.entry).count());
    input->expected = open.arguments;
    input->written = std::move(*written);
    add(tid, input);
    return true;
}

void InputRecorder::on_signal(pid_t tid, int signal) {
    const auto found = threads_.find(tid);
    if (found != threads_.end() && is_caught(tid, signal)) ++found->second.handlers;
}

void InputRecorder::on_thread_end(pid_t tid) {
    cut(tid);
    threads_.erase(tid);
}

void InputRecorder::add(pid_t tid, const std::shared_ptr<const RecordedInput>& input) {
    ++totals_.calls;
    totals_.bytes += input->size_bytes();
    for (const auto& each : live_) each.recording->add(tid, input);
}

// Recordings that begin later may still know this thread's calls.
void InputRecorder::cut(pid_t tid) {
    for (const auto& each : live_) each.recording->cut(tid);
}

}  // namespace shadowprof
