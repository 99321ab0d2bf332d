#include "shadow/window/live_windows.h"

#include <algorithm>

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Wanted length of a window, as a share of the emulated instructions.
constexpr double wanted_share = 0.6;
// Few programs execute more instructions per second. For one that does, part of the stops counts as
// its own time.
constexpr double fastest = 1e10;
constexpr nanoseconds shortest_length = microseconds(15), longest_length = microseconds(300);
// Most change of the length from one sample to the next.
constexpr double max_growth = 1.5, max_shrinking = 0.6;
constexpr std::uint64_t first_samples = 8;
constexpr std::uint64_t samples_per_window = 8;
// After this many windows in a row that were not met, fewer samples have one.
constexpr unsigned max_not_met = 4;

}  // namespace

bool LiveWindows::wants_one(bool wants_speed) {
    const bool is_due = samples_ % samples_per_window == 0;
    const bool is_early = ++samples_ <= first_samples;
    return is_due || (not_met_ < max_not_met && (is_early || wants_speed));
}

void LiveWindows::observe(const SampleReport& report) {
    if (!report.tried_window) return;
    const bool is_met = report.window == WindowEnd::met;
    not_met_ = is_met ? 0 : not_met_ + 1;
    const std::chrono::duration<double, std::nano> length = factor(report) * length_;
    length_ = std::clamp(std::chrono::duration_cast<nanoseconds>(length), shortest_length,
                         longest_length);
    if (!is_met) return;
    const auto least = static_cast<double>(report.window_instructions) / fastest;
    stop_seconds_ = std::clamp(report.of_window->passed_seconds - least, 0.0, stop_seconds_);
}

// Returns the ratio of the next window's length to this one's.
double LiveWindows::factor(const SampleReport& report) {
    switch (report.window) {
        case WindowEnd::before:
        case WindowEnd::missed:
            return max_shrinking;
        case WindowEnd::none:
            return report.window_was_empty ? max_growth : 1;
        case WindowEnd::met:
            break;
    }
    const auto wanted = wanted_share * static_cast<double>(report.instructions);
    const auto had = std::max<double>(static_cast<double>(report.window_instructions), 1);
    return std::clamp(wanted / had, max_shrinking, max_growth);
}

}  // namespace shadowprof
