#include "cli/terminal/pause_signal.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/terminal/signal_action.h"

namespace shadowprof {
namespace {

sigset_t only_stop() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    return set;
}

}  // namespace

Result<PauseSignal> PauseSignal::take() {
    PauseSignal signal(UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (!signal.handed_on_) return errno_error("eventfd");
    if (is_ignored(SIGTSTP)) return signal;
    const sigset_t set = only_stop();
    signal.arrived_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signal.arrived_) return errno_error("signalfd");
    ::pthread_sigmask(SIG_BLOCK, &set, &signal.before_);
    return signal;
}

PauseSignal::~PauseSignal() {
    if (arrived_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void PauseSignal::stop() {
    signalfd_siginfo seen;
    while (::read(arrived_.get(), &seen, sizeof seen) == sizeof seen) {
    }
    ::eventfd_write(handed_on_.get(), 1);
    const sigset_t set = only_stop();
    ::raise(SIGTSTP);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::eventfd_write(handed_on_.get(), 1);
}

void PauseSignal::leave_to_other() {
    if (!arrived_) return;
    arrived_.reset();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shadowprof
