#include "shadow/budget/window_length.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;

// Windows grow while samples take less than this share of what they may take.
constexpr double roomy_share = 0.6;
// If the program waits for a larger share of our processor time, it needs that processor.
constexpr double max_waited = 0.1;
constexpr double growth = 1.3;
// The longest window of an expensive sample, as a multiple of the longest usual one.
constexpr int max_longest = 2;
constexpr double shrinkage = 0.7;
constexpr std::chrono::seconds length_of_start{1};
// The smoothed rates cover about the last second.
constexpr double smoothing_seconds = 1;

nanoseconds within(const WindowLength::Limits& limits, double ns) {
    return std::clamp(nanoseconds(static_cast<std::int64_t>(ns)), limits.shortest, limits.longest);
}

}  // namespace

WindowLength::WindowLength(const Limits& limits, double max_processors)
    : limits_(limits), max_processors_(max_processors), value_(limits.shortest) {}

nanoseconds WindowLength::worth(double cost_seconds) const {
    if (!last_ || is_needed_ || limits_.shortest == limits_.longest) return value_;
    const auto wanted = nanoseconds(static_cast<std::int64_t>(cost_seconds * 1e9));
    return std::max(value_, std::min(wanted, max_longest * limits_.longest));
}

void WindowLength::observe(Clock::time_point now, std::uint64_t ours_ns, double waited_seconds) {
    if (!last_) grows_from_ = now + length_of_start;
    const auto before = last_.value_or(Observation{now, ours_ns});
    last_ = Observation{now, ours_ns};
    const auto passed = duration<double>(now - before.time).count();
    if (passed <= 0) return;
    const auto part = 1 - std::exp(-passed / smoothing_seconds);
    // The time of a worker that was replaced is no longer counted.
    const auto ours = static_cast<double>(ours_ns - std::min(ours_ns, before.ours_ns)) / 1e9;
    ours_seconds_ += part * (ours / passed - ours_seconds_);
    waited_seconds_ += part * (waited_seconds / passed - waited_seconds_);
    is_needed_ = waited_seconds_ > max_waited * ours_seconds_ || ours_seconds_ > max_processors_;
    double factor = 1;
    if (is_needed_)
        factor = shrinkage;
    else if (now >= grows_from_ && ours_seconds_ < roomy_share * max_processors_)
        factor = growth;
    value_ = within(limits_, static_cast<double>(value_.count()) * factor);
}

}  // namespace shadowprof
