#include "cli/terminal/toggle_signal.h"

#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "cli/terminal/signal_action.h"

namespace shadowprof {

Result<ToggleSignal> ToggleSignal::take() {
    ToggleSignal signal(UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (!signal.handed_on_) return errno_error("eventfd");
    if (is_ignored(SIGUSR2)) return signal;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    signal.arrived_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signal.arrived_) return errno_error("signalfd");
    ::pthread_sigmask(SIG_BLOCK, &set, &signal.before_);
    return signal;
}

ToggleSignal::~ToggleSignal() {
    if (!arrived_) return;
    // A signal that is still pending would kill shadowprof once it is unblocked.
    hand_on();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ToggleSignal::hand_on() {
    signalfd_siginfo seen;
    while (::read(arrived_.get(), &seen, sizeof seen) == sizeof seen)
        ::eventfd_write(handed_on_.get(), 1);
}

void ToggleSignal::leave_to_other() {
    if (!arrived_) return;
    arrived_.reset();
    handle_unless_ignored(SIGUSR2, [](int) {});
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shadowprof
