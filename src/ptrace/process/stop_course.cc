#include "ptrace/process/stop_course.h"

#include <algorithm>

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread on a processor is seen to stand still within this time after its interruption: 50 to 180
// us in a virtual machine whose processors interrupt each other slowly.
constexpr microseconds processor_time{300};
// A caller that is not prompt looks often: only its observations show when the first thread
// stopped.
constexpr milliseconds longest_unprompt_sleep{1};

}  // namespace

StopCourse::StopCourse(const StopLimits& limits, bool is_prompt, Clock::time_point now)
    : limits_(limits),
      is_prompt_(is_prompt),
      interrupted_(now),
      all_interrupted_(now),
      last_observation_(now),
      observed_at_(now),
      last_stop_(now) {}

void StopCourse::note_interrupted(Clock::time_point now) {
    all_interrupted_ = now;
    observe(now);
}

void StopCourse::observe(Clock::time_point now) {
    last_observation_ = observed_at_;
    observed_at_ = now;
}

void StopCourse::note_stop(bool would_run) {
    last_stop_ = observed_at_;
    if (standing_ || !would_run) return;
    const auto seen = is_prompt_ ? observed_at_ : last_observation_;
    standing_ = had_processor(seen) ? interrupted_ : seen;
}

bool StopCourse::had_processor(Clock::time_point stopped) const {
    return stopped <= all_interrupted_ + processor_time;
}

StopCourse::Clock::time_point StopCourse::end() const {
    if (!limits_.longest) return Clock::time_point::max();
    return standing_ ? *standing_ + *limits_.longest
                     : interrupted_ + *limits_.longest + limits_.processor_wait;
}

bool StopCourse::is_over() const {
    return observed_at_ >= end();
}

bool StopCourse::may_leave_out() const {
    return limits_.silence && standing_ && observed_at_ >= last_stop_ + *limits_.silence;
}

StopLimits::Duration StopCourse::sleep_time(StopLimits::Duration longest) const {
    if (!standing_ && !is_prompt_)
        longest = std::min<StopLimits::Duration>(longest, longest_unprompt_sleep);
    if (standing_ && limits_.silence)
        longest =
            std::min<StopLimits::Duration>(longest, last_stop_ + *limits_.silence - observed_at_);
    if (limits_.longest) longest = std::min<StopLimits::Duration>(longest, end() - observed_at_);
    return std::max(longest, StopLimits::Duration{0});
}

StopCourse::Clock::time_point StopCourse::began() const {
    if (standing_) return *standing_;
    return had_processor(observed_at_) ? interrupted_ : observed_at_;
}

}  // namespace shadowprof
