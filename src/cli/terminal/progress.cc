#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files/put.h"
#include "base/text/numbered.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/work_line.h"

namespace shadowprof {
namespace {

constexpr double terminal_period_seconds = 0.2;
constexpr double line_period_seconds = 5;

// Fewer seconds or samples say nothing about the rest.
constexpr double least_seconds = 1;
constexpr std::uint64_t least_samples = 10;

// The time until `done` is `all`, if it goes on like this.
double time_to(double seconds, std::uint64_t done, std::uint64_t all) {
    return seconds * static_cast<double>(all - std::min(done, all)) / static_cast<double>(done);
}

std::optional<double> seconds_left(const RunProgress& progress, const RunLimit& limit) {
    std::optional<double> left;
    const auto by = [&](double seconds) { left = std::min(left.value_or(seconds), seconds); };
    if (limit.seconds) by(std::max(*limit.seconds - progress.seconds, 0.0));
    if (progress.seconds < least_seconds) return left;
    if (limit.samples && progress.samples >= least_samples)
        by(time_to(progress.seconds, progress.samples, *limit.samples));
    if (limit.instructions && progress.instructions != 0)
        by(time_to(progress.seconds, progress.instructions, *limit.instructions));
    return left;
}

}  // namespace

std::string progress_text(const RunProgress& progress, const RunLimit& limit) {
    const double millions = static_cast<double>(progress.instructions) / 1e6;
    std::string text = fmt::format("{:.1f} s, {}, {:.1f} million instructions", progress.seconds,
                                   numbered(progress.samples, progress.unit), millions);
    if (progress.unit == "interval" && progress.seconds > 0)
        text += fmt::format(", {:.1f} million/s", millions / progress.seconds);
    if (const auto left = seconds_left(progress, limit))
        text += fmt::format(", about {} to the limit", rough_duration(*left));
    return text;
}

ProgressLine::~ProgressLine() {
    if (!shown_ || !is_terminal_) return;
    put(out_, erase_line);
    std::fflush(out_);
}

void ProgressLine::show(const RunProgress& progress) {
    if (progress.seconds < next_seconds_) return;
    next_seconds_ =
        progress.seconds + (is_terminal_ ? terminal_period_seconds : line_period_seconds);
    const std::string text = "shadowprof: " + progress_text(progress, limit_);
    if (is_terminal_)
        put(out_, "{}{}", erase_line, fit_in_line(out_, text));
    else
        put(out_, "{}\n", text);
    std::fflush(out_);
    shown_ = true;
}

}  // namespace shadowprof
