#include "ptrace/thread/wait_hub.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;

sigset_t sigchld_set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return set;
}

timespec to_timespec(WaitHub::Duration d) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d);
    return {static_cast<std::time_t>(seconds.count()), static_cast<long>((d - seconds).count())};
}

// Calls waitpid; `flags` may be WNOHANG. Returns nothing if there is no status, or at a signal.
// ECHILD becomes ErrorCode::gone.
Result<std::optional<WaitEvent>> try_wait(pid_t pid, int flags) {
    int raw = 0;
    const pid_t found = ::waitpid(pid, &raw, flags | __WALL);
    if (found > 0) return std::optional(WaitEvent{found, WaitStatus::decode(raw)});
    if (found == 0 || errno == EINTR) return std::optional<WaitEvent>{};
    if (errno == ECHILD)
        return Error{ErrorCode::gone, ECHILD, fmt::format("process {} is gone", pid)};
    return errno_error("waitpid");
}

}  // namespace

void prepare_sigchld() {
    const sigset_t set = sigchld_set();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, nullptr);
}

std::optional<WaitEvent> WaitHub::poll() {
    if (!queue_.empty()) {
        const WaitEvent event = queue_.front();
        queue_.pop_front();
        return event;
    }
    for (;;) {
        auto found = try_wait(-1, WNOHANG);
        if (!found || !*found) return std::nullopt;
        if (!swallow(**found)) return **found;
    }
}

Result<std::optional<WaitStatus>> WaitHub::wait_for(pid_t pid, Duration timeout) {
    if (auto status = take_queued(pid)) return status;
    const auto start = Clock::now();
    for (;;) {
        TRY_ASSIGN(const auto found, try_wait(pid, WNOHANG));
        if (found) return std::optional(found->status);
        const Duration waited = Clock::now() - start;
        if (waited >= timeout) return std::optional<WaitStatus>{};
        sleep(timeout - waited);
    }
}

bool WaitHub::sleep(Duration longest) {
    const sigset_t set = sigchld_set();
    const timespec time = to_timespec(longest);
    return ::sigtimedwait(&set, nullptr, &time) >= 0 || errno != EAGAIN;
}

// Sleeps in waitpid itself, which is faster than being woken by a signal. It waits for all
// processes: a killed process does not report the end of its leader before those of its other
// threads are taken.
Result<WaitStatus> WaitHub::wait_for(pid_t pid) {
    if (const auto status = take_queued(pid)) return *status;
    for (;;) {
        TRY_ASSIGN(const auto found, try_wait(pid, WNOHANG));
        if (found) return found->status;
        TRY_ASSIGN(const auto any, try_wait(-1, 0));
        if (!any) continue;
        if (any->pid == pid) return any->status;
        if (!swallow(*any)) queue_.push_back(*any);
    }
}

bool WaitHub::has_status(pid_t pid) const {
    if (std::any_of(queue_.begin(), queue_.end(),
                    [pid](const WaitEvent& event) { return event.pid == pid; }))
        return true;
    siginfo_t info{};
    constexpr int flags = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, flags) == 0 && info.si_pid == pid;
}

Result<WaitStatus> WaitHub::reap(pid_t child) {
    for (;;) {
        TRY_ASSIGN(const auto status, wait_for(child));
        if (status.is_end()) return status;
    }
}

void WaitHub::discard(pid_t pid) {
    discarded_.insert(pid);
    std::erase_if(queue_, [this](const WaitEvent& event) { return swallow(event); });
    if (!discarded_.contains(pid)) return;
    const auto found = try_wait(pid, WNOHANG);
    if (!found || (*found && (*found)->status.is_end())) discarded_.erase(pid);
}

void WaitHub::reap_discarded() {
    std::erase_if(discarded_, [](pid_t pid) {
        const auto found = try_wait(pid, WNOHANG);
        return !found || (*found && (*found)->status.is_end());
    });
}

std::optional<WaitStatus> WaitHub::take_queued(pid_t pid) {
    const auto it = std::find_if(queue_.begin(), queue_.end(),
                                 [pid](const WaitEvent& event) { return event.pid == pid; });
    if (it == queue_.end()) return std::nullopt;
    const WaitStatus status = it->status;
    queue_.erase(it);
    return status;
}

bool WaitHub::swallow(const WaitEvent& event) {
    const auto it = discarded_.find(event.pid);
    if (it == discarded_.end()) return false;
    if (event.status.is_end()) discarded_.erase(it);
    return true;
}

}  // namespace shadowprof
