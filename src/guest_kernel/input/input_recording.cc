#include "guest_kernel/input/input_recording.h"

#include <algorithm>

#include "guest_kernel/input/input_calls.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

InputRecording::InputRecording(std::span<const pid_t> tids) {
    for (const pid_t tid : tids) queues_[tid];
}

bool InputRecording::wants(pid_t tid) const {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(tid);
    return found != queues_.end() && !found->second.cut;
}

void InputRecording::add(pid_t tid, const std::shared_ptr<const RecordedInput>& input) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = queues_.find(tid);
        if (found == queues_.end() || found->second.cut) return;
        if (bytes_ + input->size_bytes() > max_bytes) {
            cut_all_locked();
        } else {
            has_input_ = true;
            bytes_ += input->size_bytes();
            found->second.inputs.push_back(input);
        }
    }
    changed_.notify_all();
}

void InputRecording::cut(pid_t tid) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = queues_.find(tid);
        if (found == queues_.end()) return;
        found->second.cut = true;
    }
    changed_.notify_all();
}

void InputRecording::cut_all() {
    {
        const std::lock_guard lock(mutex_);
        cut_all_locked();
    }
    changed_.notify_all();
}

bool InputRecording::has_input() const {
    const std::lock_guard lock(mutex_);
    return has_input_;
}

void InputRecording::cut_all_locked() {
    for (auto& [tid, queue] : queues_) queue.cut = true;
}

Result<std::shared_ptr<const RecordedInput>> InputRecording::take(pid_t tid,
                                                                  const InputCall& call) {
    std::unique_lock lock(mutex_);
    const auto found = queues_.find(tid);
    if (found == queues_.end())
        return Error{ErrorCode::unsupported, 0, "the input of this thread is not recorded"};
    Queue& queue = found->second;
    const auto start = Clock::now();
    changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(longest_wait, patience_),
                      [&] { return !queue.inputs.empty() || queue.cut; });
    patience_ = std::max<std::chrono::nanoseconds>(patience_ - (Clock::now() - start),
                                                   std::chrono::nanoseconds{0});
    if (queue.inputs.empty()) {
        if (queue.cut) return Error{ErrorCode::unsupported, 0, "the recording of input ended"};
        return Error{ErrorCode::interrupted, 0, "waits for input longer than a sample can"};
    }
    if (!is_same_call(queue.inputs.front()->call, call))
        return Error{ErrorCode::unsupported, 0, "asks for other input than the program read"};
    auto input = std::move(queue.inputs.front());
    queue.inputs.pop_front();
    bytes_ -= input->size_bytes();
    return input;
}

}  // namespace shadowprof
