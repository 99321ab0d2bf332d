#include "cli/terminal/end_signals.h"

#include <sys/signalfd.h>

#include "cli/terminal/signal_action.h"

namespace shadowprof {

Result<EndSignals> EndSignals::take() {
    sigset_t wanted, before;
    sigemptyset(&wanted);
    for (const int signal : signals)
        if (!is_ignored(signal)) sigaddset(&wanted, signal);
    UniqueFd fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return errno_error("signalfd");
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    return EndSignals(std::move(fd), before);
}

EndSignals::~EndSignals() {
    if (!fd_) return;
    // Signals that are still pending have had their effect; unblocked, they would kill shadowprof.
    signalfd_siginfo seen;
    while (read(fd_.get(), &seen, sizeof seen) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void EndSignals::leave_to_other() {
    fd_.reset();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace shadowprof
