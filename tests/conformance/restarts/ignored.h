// Checks that ignored signals do not end calls that wait.
#pragma once

#include "waiting.h"

// Sends a sleeping process signals that it ignores, by default or explicitly.
static inline void send_ignored(pid_t process) {
    const int ignored[] = {SIGCHLD, SIGWINCH, SIGURG, SIGUSR2};
    for (int each = 0; each < 4; ++each) {
        give_time(process, "S");
        CALL(kill(process, ignored[each]));
    }
}

// `enter` returns 0 when woken. Nothing but `wake` may end it.
static inline void check_ignored(long (*enter)(void), void (*wake)(void)) {
    CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
    const pid_t self = getpid();
    for (int round = 0; round < 10; ++round) {
        spin(200000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            send_ignored(self);
            give_time(self, "S");
            wake();
            _exit(0);
        }
        CHECK(enter() == 0);
        reap(child);
    }
}
