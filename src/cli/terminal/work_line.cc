#include "cli/terminal/work_line.h"

#include <fmt/format.h>

#include <chrono>

#include "base/files/put.h"
#include "base/text/text_format.h"
#include "cli/terminal/terminal.h"

namespace shadowprof {
namespace {

constexpr double seconds_until_shown = 1, seconds_between_lines = 0.2;
// Less says nothing about the rest.
constexpr double least_share_done = 0.02;

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

WorkLine::WorkLine(std::FILE* out, bool is_terminal, Seconds seconds)
    : out_(out),
      is_terminal_(is_terminal),
      seconds_(seconds ? std::move(seconds) : steady_seconds),
      begin_(seconds_()),
      next_(begin_ + seconds_until_shown) {}

void WorkLine::show(const std::function<std::string()>& text) {
    if (!is_terminal_) return;
    const double now = seconds_();
    if (now < next_) return;
    next_ = now + seconds_between_lines;
    put(out_, "{}{}", erase_line, fit_in_line(out_, "shadowprof: " + printable(text())));
    std::fflush(out_);
    is_shown_ = true;
}

void WorkLine::clear() {
    if (!is_shown_) return;
    put(out_, erase_line);
    std::fflush(out_);
    is_shown_ = false;
}

std::string megabytes_text(std::uint64_t bytes, std::uint64_t all) {
    const auto megabytes = [](std::uint64_t number) { return static_cast<double>(number) / 1e6; };
    if (all == 0) return fmt::format("{:.1f} MB", megabytes(bytes));
    return fmt::format("{:.1f} of {:.1f} MB", megabytes(bytes), megabytes(all));
}

std::string rough_duration(double seconds) {
    constexpr double longest_in_seconds = 100;
    if (seconds < longest_in_seconds) return fmt::format("{:.0f} s", seconds);
    return fmt::format("{:.0f} min", seconds / 60);
}

std::string time_left_text(double seconds, double done, double all) {
    if (done < least_share_done * all || done <= 0 || done >= all) return "";
    return fmt::format(", about {} left", rough_duration(seconds * (all - done) / done));
}

ReadListener reading_on(WorkLine& line) {
    return [&line, begin = line.elapsed()](const ReadProgress& progress) {
        if (progress.is_done) return line.clear();
        line.show([&] {
            return fmt::format(
                "reading '{}': {}{}", progress.path, megabytes_text(progress.bytes, progress.size),
                time_left_text(line.elapsed() - begin, static_cast<double>(progress.bytes),
                               static_cast<double>(progress.size)));
        });
    };
}

Result<void> WatchedSink::write(std::string_view bytes) {
    written_ += bytes.size();
    line_.show([&] { return fmt::format("{}, {}", what_, megabytes_text(written_, 0)); });
    return sink_.write(bytes);
}

}  // namespace shadowprof
