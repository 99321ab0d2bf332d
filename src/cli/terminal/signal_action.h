// Handlers of signals. A signal that shadowprof's caller had set to be ignored stays ignored.
#pragma once

#include <signal.h>

#include <initializer_list>

namespace shadowprof {

inline bool is_ignored(int signal) {
    struct sigaction action;
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

// Installs a handler, which an executed program does not inherit, unlike SIG_IGN. Has no effect on
// a signal that is ignored. Interrupted system calls are restarted.
inline void handle_unless_ignored(int signal, void (*handler)(int)) {
    if (is_ignored(signal)) return;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
}

// For commands that trace: they survive a closed standard error, and a file that may not grow as
// large as it would. This needs handlers, since the target would inherit SIG_IGN.
inline void survive_failed_writes() {
    for (const int signal : {SIGPIPE, SIGXFSZ}) handle_unless_ignored(signal, [](int) {});
}

// For commands that are in the process group of the target: they survive what the program sends to
// its group. Signals by which users and shells speak to a command are not among these.
inline void survive_signals_of_program() {
    for (const int signal : {SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT})
        handle_unless_ignored(signal, [](int) {});
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
        handle_unless_ignored(signal, [](int) {});
}

}  // namespace shadowprof
