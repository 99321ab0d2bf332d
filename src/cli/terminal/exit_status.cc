#include "cli/terminal/exit_status.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace shadowprof {

void die_by_signal(int signal) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    // A core_pattern that names a program ignores the limit. That program gets no core of a process
    // that is not dumpable.
    prctl(PR_SET_DUMPABLE, 0);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    // Reached if the default action of the signal is not death, or if this is PID 1 of a namespace.
    _exit(128 + signal);
}

}  // namespace shadowprof
