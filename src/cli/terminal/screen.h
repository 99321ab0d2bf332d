// A terminal's alternate screen, on which a run under way is shown.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// Two processes share it, the one that the user sees and the tracer: either can restore the
// terminal when the other one can no longer do so. Create it before the fork.
class Screen {
  public:
    struct Size {
        std::size_t width = 80, height = 24;
    };

    // Shows itself on the terminal `fd`, once something is drawn. Error: system.
    static Result<Screen> on(UniqueFd fd);
    Screen(Screen&&) = default;
    Screen& operator=(Screen&&) = delete;
    // Restores the terminal.
    ~Screen();

    // As the terminal is now.
    Size size() const;
    // Replaces what is on the screen by `lines`, which must fit. Draws nothing while shadowprof is
    // not in the terminal's foreground. A terminal that is stopped, or that nobody reads, gets a
    // part of them or none.
    void draw(std::span<const std::string> lines);
    // Restores the terminal if anything was drawn. May be called again, and by both processes. A
    // terminal that does not take the text in time stays as it is until the next call.
    void leave() { leave_for(State::left); }
    // Restores the terminal, and draws nothing until resume(). To be called around a stop of the
    // process that the user sees.
    void suspend() { leave_for(State::suspended); }
    void resume();

  private:
    enum class State : int { left, entered, drawing, suspended };
    struct Unmap {
        void operator()(std::atomic<State>* state) const;
    };

    Screen(UniqueFd fd, std::unique_ptr<std::atomic<State>, Unmap> state);
    bool is_in_foreground() const;
    void leave_for(State next);
    bool write(std::string_view text, std::chrono::milliseconds patience) const;

    UniqueFd fd_;
    pid_t group_;  // of the process that the user sees
    // Both processes share this memory.
    std::unique_ptr<std::atomic<State>, Unmap> state_;
};

}  // namespace shadowprof
