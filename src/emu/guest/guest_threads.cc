#include "emu/guest/guest_threads.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shadowprof {
namespace {

// Fits 64 bits when multiplied by any number of processors.
constexpr std::uint64_t longest = std::uint64_t{1} << 50;
constexpr std::uint64_t shortest_mean_turn = 1000;

}  // namespace

std::optional<GuestThreads::Index> GuestThreads::add(const CpuState& cpu, State state, Pace pace) {
    const Thread thread{.cpu = cpu,
                        .state = State::stopped,
                        .pace = std::clamp(pace, fastest_pace, slowest_pace),
                        .progress = threads_.empty() ? 0 : threads_[current_].progress,
                        .birth = ++births_};
    auto place =
        lasting_ ? std::ranges::find(threads_, State::stopped, &Thread::state) : threads_.end();
    if (place == threads_.end()) {
        if (threads_.size() == max_threads) return std::nullopt;
        threads_.push_back(thread);
        place = std::prev(threads_.end());
        // Alone, the current thread has executed a number that is not known exactly.
        if (threads_.size() == 2 && is_in_turn_) begin_turn(mean_turn_);
    } else {
        *place = thread;
    }
    const auto index = static_cast<Index>(place - threads_.begin());
    set_state(index, state);
    return index;
}

void GuestThreads::set_state(Index index, State state) {
    auto& thread = threads_[index];
    running_ += state == State::runs;
    running_ -= thread.state == State::runs;
    in_call_ += state == State::in_call;
    in_call_ -= thread.state == State::in_call;
    thread.state = state;
}

void GuestThreads::stop(SampleEnd why) {
    set_state(current_, State::stopped);
    last_stop_ = why;
}

void GuestThreads::wake(Index index, std::int64_t result) {
    if (state(index) != State::waits && state(index) != State::in_call) return;
    set_state(index, State::runs);
    threads_[index].progress = std::max(threads_[index].progress, threads_[current_].progress);
    threads_[index].cpu[Gpr::rax] = static_cast<std::uint64_t>(result);
}

void GuestThreads::begin(const Run& run) {
    processors_ = std::max(1u, run.processors);
    duration_ = std::clamp<std::uint64_t>(run.instructions, 1, longest);
    time_ = 0;
    mean_turn_ = std::max(run.mean_turn, shortest_mean_turn);
    lead_ = run.lead;
    others_are_due_ = false;
    of_lead_ = {};
    if (run.lasting_threads && std::exchange(lasting_, true)) return;
    lasting_ = run.lasting_threads;
    random_.seed(static_cast<std::minstd_rand::result_type>(run.seed));
    for (auto& thread : threads_) thread.progress = 0;
}

// Includes the current thread if its last call stopped it: it ran until then.
std::uint64_t GuestThreads::parallel() const {
    if (lead_ == Lead::first && current_ == 0) return 1;
    const bool stopped = !threads_.empty() && threads_[current_].state != State::runs;
    return std::clamp<std::uint64_t>(running_ + stopped, 1, processors_);
}

bool GuestThreads::is_beside_first() const {
    return lead_ == Lead::first && current_ != 0 && threads_[0].state == State::runs;
}

std::uint64_t GuestThreads::time(std::uint64_t more) const {
    return time_ / processors_ + (more == 0 || is_beside_first() ? 0 : time_of(more) / parallel());
}

// Less than a thousandth of the run is not worth a turn.
bool GuestThreads::is_time_over() const {
    return time() + duration_ / 1024 >= duration_;
}

bool GuestThreads::is_first_due() const {
    return lead_ == Lead::first && threads_[0].state == State::runs && !others_are_due_;
}

// With Lead::first, the first thread is chosen only if no other can run.
std::optional<GuestThreads::Index> GuestThreads::min_far() const {
    const auto is_last_choice = [&](Index index) {
        return (yielded_ && index == current_) || (lead_ == Lead::first && index == 0);
    };
    std::optional<Index> best;
    for (Index i = 0; i < threads_.size(); ++i) {
        if (threads_[i].state != State::runs) continue;
        const bool is_better = !best || (is_last_choice(*best) && !is_last_choice(i)) ||
                               (is_last_choice(*best) == is_last_choice(i) &&
                                threads_[i].progress < threads_[*best].progress);
        if (is_better) best = i;
    }
    return best;
}

bool GuestThreads::next() {
    if (is_time_over()) return false;
    if (lead_ == Lead::first && threads_[0].state == State::stopped) return false;
    if (is_in_turn()) return true;
    is_in_turn_ = false;
    const auto best = is_first_due() ? std::optional(Index{0}) : min_far();
    yielded_ = false;
    if (!best) return false;
    current_ = *best;
    others_are_due_ = current_ == 0;
    begin_turn(is_beside_first() ? mean_turn_ / turns_of_others : mean_turn_);
    is_in_turn_ = lasting_;
    return true;
}

// Half to one and a half times the mean, so that threads do not fall in step.
void GuestThreads::begin_turn(std::uint64_t mean) {
    turn_left_ = mean / 2 + random_() % (mean + 1);
}

void GuestThreads::ran(std::uint64_t instructions) {
    const auto took = time_of(instructions);
    threads_[current_].progress += took;
    if (lead_ == Lead::all || current_ == 0) {
        of_lead_.instructions += instructions;
        of_lead_.time += took;
    }
    if (!is_beside_first()) time_ += took * processors_ / parallel();
    turn_left_ -= std::min(turn_left_, took);
}

std::uint64_t GuestThreads::turn_left() const {
    const auto until_end = (duration_ - std::min(duration_, time())) * parallel();
    auto left = is_awaited() ? std::min(turn_left_, until_end) : until_end;
    if (is_beside_first()) left = turn_left_;
    const auto pace = threads_[current_].pace;
    if (pace == usual_pace) return left;
    return std::max<std::uint64_t>(std::min(left, longest) * usual_pace / pace, 1);
}

bool GuestThreads::is_turn_over() const {
    if (threads_[current_].state != State::runs || is_time_over()) return true;
    // A short rest of a turn is not worth another entry into translated code.
    return is_awaited() && turn_left_ < mean_turn_ / 64;
}

SampleEnd GuestThreads::end() const {
    if (is_time_over()) return SampleEnd::size;
    if (lead_ == Lead::first && threads_[0].state == State::stopped) return *last_stop_;
    const bool waits = std::ranges::any_of(
        threads_, [](const Thread& thread) { return thread.state == State::waits; });
    if (last_stop_ && !(waits && *last_stop_ == SampleEnd::exit)) return *last_stop_;
    return SampleEnd::idle;
}

}  // namespace shadowprof
