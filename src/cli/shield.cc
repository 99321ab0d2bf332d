#include "cli/shield.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>

namespace shadowprof {
namespace {

// Of the process; by another one than that of the command, `killall shadowprof` passes over it.
constexpr const char* shielded_name = "sp-tracer";

// The other process holds the other end as long as it lives.
Result<std::array<UniqueFd, 2>> make_lifeline() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("socketpair");
    return std::array{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void leave_process_group() {
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, shielded_name);
    // A terminal may be set to stop the writers of other groups ("stty tostop").
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void hand_on(const EndSignals& signals, pid_t child) {
    signalfd_siginfo seen;
    if (::read(signals.fd(), &seen, sizeof seen) == sizeof seen)
        ::kill(child, static_cast<int>(seen.ssi_signo));
}

Result<int> wait_for(pid_t child, const EndSignals& signals, const UniqueFd& lifeline) {
    while (true) {
        pollfd waiting[] = {{signals.fd(), POLLIN, 0}, {lifeline.get(), POLLIN, 0}};
        ::poll(waiting, 2, -1);
        if (waiting[1].revents) break;
        if (waiting[0].revents) hand_on(signals, child);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return errno_error("waitpid");
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return Error{ErrorCode::system, 0,
                 fmt::format("its process {} was killed by signal {}", child, WTERMSIG(status))};
}

}  // namespace

Shielded::Shielded(UniqueFd other, EndSignals& signals)
    : other_(std::move(other)), end_request_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (const int fd : {other_.get(), signals.fd()}) {
        epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
        ::epoll_ctl(end_request_.get(), EPOLL_CTL_ADD, fd, &event);
    }
}

bool Shielded::is_orphaned() const {
    pollfd other = {other_.get(), POLLIN, 0};
    return ::poll(&other, 1, 0) > 0;
}

Result<int> run_shielded(const std::function<int(const Shielded&)>& work) {
    TRY_ASSIGN(auto ends, make_lifeline());
    TRY_ASSIGN(auto signals, EndSignals::take());
    ::signal(SIGCHLD, SIG_DFL);  // an ignored one would lose the exit status
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return errno_error("fork");
    if (child != 0) {
        ends[1].reset();
        return wait_for(child, signals, ends[0]);
    }
    ends[0].reset();
    leave_process_group();
    return work(Shielded(std::move(ends[1]), signals));
}

}  // namespace shadowprof
