// In strict mode a process reads, writes and exits; any other call kills it.
#include "filter.h"

int main(void) {
    for (int round = 0; round < 40; ++round) {
        int ends[2];
        CALL(pipe(ends));
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(status_skipped);
            for (int i = 0; i < 5; ++i) {
                spin(20000);
                if (write(ends[1], "x", 1) != 1) syscall(SYS_exit, 1);
            }
            if (round % 2) syscall(SYS_getpid);
            syscall(SYS_exit, 91);
        }
        CALL(close(ends[1]));
        int status, bytes = 0;
        char byte;
        while (read(ends[0], &byte, 1) == 1) ++bytes;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("no strict mode");
        CHECK(bytes == 5);
        CHECK(round % 2 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                        : WEXITSTATUS(status) == 91);
        CALL(close(ends[0]));
    }
    puts("ok");
}
