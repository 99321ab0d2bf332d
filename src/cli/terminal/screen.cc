#include "cli/terminal/screen.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// Sequences of xterm that all terminals of today know: the alternate screen, without a cursor.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view leave_screen = "\x1b[?25h\x1b[?1049l";
// ECMA-48: CUP, EL, ED.
constexpr std::string_view go_home = "\x1b[H", erase_screen_line = "\x1b[K", erase_below = "\x1b[J";
// A process that draws for longer is stopped, or its terminal is.
constexpr int longest_drawing_ms = 100;

}  // namespace

void Screen::Unmap::operator()(std::atomic<State>* state) const {
    ::munmap(state, sizeof *state);
}

Result<Screen> Screen::on(UniqueFd fd) {
    static_assert(std::atomic<State>::is_always_lock_free);
    void* memory = ::mmap(nullptr, sizeof(std::atomic<State>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno_error("--live: mmap");
    return Screen(std::move(fd), std::unique_ptr<std::atomic<State>, Unmap>(
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
    write(text);
    auto drawing = State::drawing;
    state_->compare_exchange_strong(drawing, State::entered);
}

void Screen::leave_for(State next) {
    for (int waited_ms = 0; *state_ == State::drawing && waited_ms < longest_drawing_ms;
         ++waited_ms)
        std::this_thread::sleep_for(1ms);
    const State before = state_->exchange(next);
    if (before == State::entered || before == State::drawing) write(leave_screen);
}

void Screen::resume() {
    auto suspended = State::suspended;
    state_->compare_exchange_strong(suspended, State::left);
}

// A terminal that is gone needs no text.
void Screen::write(std::string_view text) const {
    while (!text.empty()) {
        const auto count = ::write(fd_.get(), text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace shadowprof
