#include "cli/terminal/shield.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>

#include "base/files/fd.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/passed_signals.h"
#include "cli/terminal/pause_signal.h"
#include "cli/terminal/signal_action.h"
#include "cli/terminal/toggle_signal.h"

namespace shadowprof {
namespace {

// The name of the shielded process. It differs from the command's name, so that `killall
// shadowprof` does not kill this process.
constexpr const char* shielded_name = "sp-tracer";

// Each process holds one end while it lives, so that the other one notices its death.
Result<std::array<UniqueFd, 2>> make_lifeline() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("start the tracing process: socketpair");
    return std::array{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void leave_process_group() {
    ::setpgid(0, 0);
    // A terminal may be set to stop background processes that write to it ("stty tostop").
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// The signals that the visible process takes. EndSignals are sent to the child, PassedSignals to
// the target.
class SeenSignals {
  public:
    explicit SeenSignals(const EndSignals& signals) : handed_on_(&signals) {}
    explicit SeenSignals(PassedSignals& signals) : passed_(&signals) {}

    int fd() const { return handed_on_ ? handed_on_->fd() : passed_->fd(); }
    // Returns the signal that the caller must die of, or 0.
    int hand_on(pid_t child) const {
        if (passed_) return passed_->hand_on(child);
        signalfd_siginfo seen;
        if (::read(fd(), &seen, sizeof seen) == sizeof seen)
            ::kill(child, static_cast<int>(seen.ssi_signo));
        return 0;
    }
    void set_program(pid_t pid) const {
        if (passed_) passed_->set_program(pid);
    }
    void leave_to_child() const {
        if (passed_) passed_->leave_to_other();
    }
    // The signals whose arrival the child watches (Shielded::end_request()). Null if signals are
    // only passed on.
    const EndSignals* handed_on() const { return handed_on_; }

  private:
    const EndSignals* handed_on_ = nullptr;
    PassedSignals* passed_ = nullptr;
};

// Reads the target's process id. Returns false if the child has ended.
bool read_program_id(const UniqueFd& lifeline, const SeenSignals& signals) {
    pid_t program = 0;
    if (::read(lifeline.get(), &program, sizeof program) != sizeof program) return false;
    signals.set_program(program);
    return true;
}

void stop(PauseSignal& pause, Screen* screen) {
    if (screen != nullptr) screen->suspend();
    pause.stop();
    if (screen != nullptr) screen->resume();
}

// The child, which may live for longer, then draws nothing more.
[[noreturn]] void die(int signal, Screen* screen) {
    if (screen != nullptr) screen->suspend();
    die_by_signal(signal);
}

Result<WorkEnd> wait_for(pid_t child, const SeenSignals& signals, ToggleSignal& toggle,
                         std::optional<PauseSignal>& pause, Screen* screen,
                         const UniqueFd& lifeline) {
    // With SIGCHLD ignored, the exit status would be lost. The child has inherited the old setting.
    ::signal(SIGCHLD, SIG_DFL);
    const char go = 1;
    if (::write(lifeline.get(), &go, 1) != 1) return errno_error("start the tracing process");
    while (true) {
        pollfd waiting[] = {{lifeline.get(), POLLIN, 0},
                            {signals.fd(), POLLIN, 0},
                            {toggle.fd(), POLLIN, 0},
                            {pause ? pause->fd() : -1, POLLIN, 0}};
        ::poll(waiting, std::size(waiting), -1);
        if (waiting[0].revents && !read_program_id(lifeline, signals)) break;
        if (waiting[1].revents)
            if (const int signal = signals.hand_on(child)) die(signal, screen);
        if (waiting[2].revents) toggle.hand_on();
        if (waiting[3].revents) stop(*pause, screen);
    }
    if (screen != nullptr) screen->leave();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return errno_error("wait for the tracing process");
    if (WIFEXITED(status)) return WorkEnd{WEXITSTATUS(status), std::nullopt};
    return WorkEnd{0, WTERMSIG(status)};
}

enum class Group { own, ours };

Result<WorkEnd> run(Group group, const SeenSignals& signals,
                    const std::function<int(const Shielded&)>& work, Screen* screen) {
    TRY_ASSIGN(auto ends, make_lifeline());
    TRY_ASSIGN(auto toggle, ToggleSignal::take());
    std::optional<PauseSignal> pause;
    if (group == Group::own || screen != nullptr) {
        TRY_ASSIGN(auto taken, PauseSignal::take());
        pause.emplace(std::move(taken));
    }
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return errno_error("start the tracing process: fork");
    if (child != 0) {
        ends[1].reset();
        return wait_for(child, signals, toggle, pause, screen, ends[0]);
    }
    ends[0].reset();
    ::prctl(PR_SET_NAME, shielded_name);
    // In the opposite order of take(), as each restores the mask that it found.
    if (pause) pause->leave_to_other();
    toggle.leave_to_other();
    if (group == Group::own) leave_process_group();
    signals.leave_to_child();
    char go = 0;
    while (::read(ends[1].get(), &go, 1) < 0 && errno == EINTR) {
    }
    // A child in our group is stopped with us.
    const SignalCounts counts{toggle.handed_on(), group == Group::own ? pause->handed_on() : -1};
    return WorkEnd{work(Shielded(std::move(ends[1]), signals.handed_on(), counts)), std::nullopt};
}

}  // namespace

Shielded::Shielded(UniqueFd other, const EndSignals* signals, SignalCounts counts)
    : other_(std::move(other)), end_request_(::epoll_create1(EPOLL_CLOEXEC)), counts_(counts) {
    for (const int fd : {other_.get(), signals ? signals->fd() : -1}) {
        epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
        if (fd >= 0) ::epoll_ctl(end_request_.get(), EPOLL_CTL_ADD, fd, &event);
    }
}

bool Shielded::is_orphaned() const {
    return is_readable(other_.get());
}

void Shielded::send_program_id(pid_t pid) const {
    // If the other process is dead, is_orphaned() reports it.
    static_cast<void>(::send(other_.get(), &pid, sizeof pid, MSG_NOSIGNAL));
}

Result<WorkEnd> run_in_own_group(const std::function<int(const Shielded&)>& work, Screen* screen) {
    TRY_ASSIGN(const auto signals, EndSignals::take());
    return run(Group::own, SeenSignals(signals), work, screen);
}

Result<WorkEnd> run_in_our_group(const std::function<int(const Shielded&)>& work, Screen* screen) {
    TRY_ASSIGN(auto signals, PassedSignals::take());
    survive_signals_of_program();
    return run(Group::ours, SeenSignals(signals), work, screen);
}

}  // namespace shadowprof
