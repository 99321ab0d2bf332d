#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include "base/files/put.h"
#include "base/text/numbered.h"

namespace shadowprof {
namespace {

constexpr double terminal_period_seconds = 0.2;
constexpr double line_period_seconds = 5;
constexpr const char* erase_line = "\r\033[K";  // ECMA-48, EL

}  // namespace

std::string progress_text(const RunProgress& progress) {
    return fmt::format("{:.1f} s, {}, {:.1f} million instructions", progress.seconds,
                       numbered(progress.samples, progress.unit),
                       static_cast<double>(progress.instructions) / 1e6);
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
    const std::string text = progress_text(progress);
    put(out_, "{}shadowprof: {}{}", is_terminal_ ? erase_line : "", text, is_terminal_ ? "" : "\n");
    std::fflush(out_);
    shown_ = true;
}

}  // namespace shadowprof
