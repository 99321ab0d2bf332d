#include "cli/terminal/counted_signal.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/terminal/signal_action.h"

namespace shadowprof {

Result<CountedSignal> CountedSignal::take(int number) {
    CountedSignal signal(number, UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    if (!signal.counted_) return errno_error("eventfd");
    if (is_ignored(number)) return signal;
    const sigset_t set = signal.only_it();
    signal.arrived_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signal.arrived_) return errno_error("signalfd");
    ::pthread_sigmask(SIG_BLOCK, &set, &signal.before_);
    return signal;
}

CountedSignal::~CountedSignal() {
    leave_to_other();
}

sigset_t CountedSignal::only_it() const {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_);
    return set;
}

unsigned CountedSignal::take_arrived() {
    unsigned times = 0;
    signalfd_siginfo seen;
    while (::read(arrived_.get(), &seen, sizeof seen) == sizeof seen) ++times;
    return times;
}

void CountedSignal::let_through() {
    const sigset_t set = only_it();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void CountedSignal::leave_to_other() {
    if (!arrived_) return;
    arrived_.reset();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shadowprof
