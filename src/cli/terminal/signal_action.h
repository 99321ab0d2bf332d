// Handlers of signals. A signal that our caller has us ignore stays ignored.
#pragma once

#include <signal.h>

namespace shadowprof {

inline bool is_ignored(int signal) {
    struct sigaction action;
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

// A handler, unlike SIG_IGN, is not inherited by a program that is executed. No effect on a signal
// that is ignored. Calls that it interrupts are restarted.
inline void handle_unless_ignored(int signal, void (*handler)(int)) {
    if (is_ignored(signal)) return;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
}

// For commands that trace: a closed standard error does not end them. A handler does this, since
// the target would inherit SIG_IGN.
inline void survive_closed_pipes() {
    handle_unless_ignored(SIGPIPE, [](int) {});
}

}  // namespace shadowprof
