// For a child that exited, waitid returns its id, user, CLD_EXITED and code, and nothing else.
#include "child.h"

int main(void) {
    for (int round = 0; round < 60; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(30000);
            _exit(round + 3);
        }
        spin(40000);
        siginfo_t info;
        memset(&info, 0x5a, sizeof info);
        CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WSTOPPED) == 0);
        CHECK(info.si_signo == SIGCHLD);
        CHECK(info.si_errno == 0);
        CHECK(info.si_code == CLD_EXITED);
        CHECK(info.si_pid == child);
        CHECK(info.si_uid == getuid());
        CHECK(info.si_status == round + 3);
        expect_no_child();
    }
    puts("ok");
}
