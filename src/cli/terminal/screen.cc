#include "cli/terminal/screen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// Sequences of xterm that all terminals of today know: the alternate screen, without a cursor. Long
// lines are cut at its edge, as characters may be wider than we know.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view leave_screen = "\x1b[?7h\x1b[?25h\x1b[?1049l";
// ECMA-48: CUP, EL, ED.
constexpr std::string_view go_home = "\x1b[H", erase_screen_line = "\x1b[K", erase_below = "\x1b[J";
// How long a terminal that is stopped, or that nobody reads, is waited for.
constexpr auto longest_drawing = 100ms, longest_leaving = 250ms;
// A process that draws for longer is stopped.
constexpr int longest_wait_ms = 200;

// Opens the terminal again, as O_NONBLOCK belongs to an open file, and other processes write to
// that of `fd`. Returns `fd` itself if that is not allowed, as for a terminal of another user:
// writing then blocks if a terminal takes only a part of the text.
UniqueFd own_file(UniqueFd fd) {
    UniqueFd own(::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(),
                        O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return own ? std::move(own) : std::move(fd);
}

}  // namespace

void Screen::Unmap::operator()(std::atomic<State>* state) const {
    ::munmap(state, sizeof *state);
}

Result<Screen> Screen::on(UniqueFd fd) {
    static_assert(std::atomic<State>::is_always_lock_free);
    void* memory = ::mmap(nullptr, sizeof(std::atomic<State>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno_error("--live: mmap");
    return Screen(own_file(std::move(fd)), std::unique_ptr<std::atomic<State>, Unmap>(
                                               new (memory) std::atomic<State>(State::left)));
}

Screen::Screen(UniqueFd fd, std::unique_ptr<std::atomic<State>, Unmap> state)
    : fd_(std::move(fd)), group_(::getpgrp()), state_(std::move(state)) {}

Screen::~Screen() {
    if (state_) leave();
}

Screen::Size Screen::size() const {
    winsize found = {};
    Size size;
    if (::ioctl(fd_.get(), TIOCGWINSZ, &found) != 0) return size;
    if (found.ws_col != 0) size.width = found.ws_col;
    if (found.ws_row != 0) size.height = found.ws_row;
    return size;
}

// True for a terminal that does not control us, which has no foreground that we know of.
bool Screen::is_in_foreground() const {
    const pid_t front = ::tcgetpgrp(fd_.get());
    return front < 0 || front == group_;
}

void Screen::draw(std::span<const std::string> lines) {
    if (!is_in_foreground()) return;
    const bool was_left = *state_ == State::left;
    auto before = was_left ? State::left : State::entered;
    if (!state_->compare_exchange_strong(before, State::drawing)) return;
    std::string text(was_left ? enter_screen : "");
    text += go_home;
    // Behind a line that is as wide as the screen, the cursor may still stand on its last
    // character.
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += fmt::format("{}{}{}", i == 0 ? "" : "\r\n", erase_screen_line, lines[i]);
    if (lines.size() < size().height) text += fmt::format("\r\n{}", erase_below);
    write(text, longest_drawing);
    auto drawing = State::drawing;
    state_->compare_exchange_strong(drawing, State::entered);
}

void Screen::leave_for(State next) {
    for (int waited_ms = 0; *state_ == State::drawing && waited_ms < longest_wait_ms; ++waited_ms)
        std::this_thread::sleep_for(1ms);
    const State before = state_->exchange(next);
    if (before != State::entered && before != State::drawing) return;
    const bool is_written = write(leave_screen, longest_leaving);
    // The next call tries again.
    auto left = State::left;
    if (!is_written && next == left) state_->compare_exchange_strong(left, State::entered);
}

void Screen::resume() {
    auto suspended = State::suspended;
    state_->compare_exchange_strong(suspended, State::left);
}

// Drops what the terminal does not take in time. Returns whether it took all.
bool Screen::write(std::string_view text, std::chrono::milliseconds patience) const {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!text.empty()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        pollfd waiting = {fd_.get(), POLLOUT, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(std::max(left, 0ms).count()));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || (waiting.revents & POLLOUT) == 0) return false;
        const auto count = ::write(fd_.get(), text.data(), text.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN) && left > 0ms) continue;
        if (count <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace shadowprof
