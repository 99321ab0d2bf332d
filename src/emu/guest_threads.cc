#include "emu/guest_threads.h"

#include <algorithm>

namespace shadowprof {
namespace {

// Times any number of processors, it still fits 64 bits.
constexpr std::uint64_t longest = std::uint64_t{1} << 50;

}  // namespace

std::optional<GuestThreads::Index> GuestThreads::add(const CpuState& cpu, bool runs) {
    if (threads_.size() == max_threads) return std::nullopt;
    const auto progress = threads_.empty() ? 0 : threads_[current_].progress;
    threads_.push_back({cpu, runs ? State::runs : State::waits, progress});
    running_ += runs;
    return static_cast<Index>(threads_.size() - 1);
}

void GuestThreads::set_state(Index index, State state) {
    auto& thread = threads_[index];
    running_ += state == State::runs;
    running_ -= thread.state == State::runs;
    thread.state = state;
}

void GuestThreads::stop(SampleEnd why) {
    set_state(current_, State::stopped);
    last_stop_ = why;
}

void GuestThreads::wake(Index index, std::int64_t result) {
    if (!waits(index)) return;
    set_state(index, State::runs);
    threads_[index].progress = std::max(threads_[index].progress, threads_[current_].progress);
    threads_[index].cpu[Gpr::rax] = static_cast<std::uint64_t>(result);
}

void GuestThreads::begin(std::uint64_t instructions, unsigned processors, std::uint64_t seed) {
    processors_ = std::max(1u, processors);
    duration_ = std::clamp<std::uint64_t>(instructions, 1, longest);
    time_ = 0;
    random_.seed(static_cast<std::minstd_rand::result_type>(seed));
    for (auto& thread : threads_) thread.progress = 0;
}

// The current one did so until the call that stopped it.
std::uint64_t GuestThreads::parallel() const {
    const bool stopped = !threads_.empty() && threads_[current_].state != State::runs;
    return std::clamp<std::uint64_t>(running_ + stopped, 1, processors_);
}

std::uint64_t GuestThreads::time(std::uint64_t more) const {
    return time_ / processors_ + more / parallel();
}

// Less than a thousandth is not worth a turn.
bool GuestThreads::is_time_over() const {
    return time() + duration_ / 1024 >= duration_;
}

bool GuestThreads::next() {
    if (is_time_over()) return false;
    const Thread* const after = yielded_ ? &threads_[current_] : nullptr;
    const Thread* best = nullptr;
    yielded_ = false;
    for (Index i = 0; i < threads_.size(); ++i) {
        const auto& thread = threads_[i];
        if (thread.state != State::runs) continue;
        if (best && (thread.progress >= best->progress || &thread == after) && best != after)
            continue;
        best = &thread;
        current_ = i;
    }
    if (!best) return false;
    // Half to one and a half times the mean, so that threads do not fall in step.
    turn_left_ = mean_turn_instructions / 2 + random_() % (mean_turn_instructions + 1);
    return true;
}

void GuestThreads::ran(std::uint64_t instructions) {
    threads_[current_].progress += instructions;
    time_ += instructions * processors_ / parallel();
    turn_left_ -= std::min(turn_left_, instructions);
}

std::uint64_t GuestThreads::turn_left() const {
    const auto until_end = (duration_ - std::min(duration_, time())) * parallel();
    return has_others() ? std::min(turn_left_, until_end) : until_end;
}

bool GuestThreads::is_turn_over() const {
    if (threads_[current_].state != State::runs || is_time_over()) return true;
    // What is left must be worth an entry.
    return has_others() && turn_left_ < mean_turn_instructions / 64;
}

SampleEnd GuestThreads::end() const {
    if (is_time_over()) return SampleEnd::size;
    const bool waits = std::ranges::any_of(
        threads_, [](const Thread& thread) { return thread.state == State::waits; });
    if (last_stop_ && !(waits && *last_stop_ == SampleEnd::exit)) return *last_stop_;
    return SampleEnd::idle;
}

}  // namespace shadowprof
