// A call that a filter answers with a kill of the process ends it by SIGSYS.
#include <pthread.h>
#include <sys/resource.h>

#include "filter.h"

static void* offends(void* argument) {
    spin(40000);
    syscall(SYS_getppid);
    return argument;
}

int main(void) {
    const struct rlimit none = {0, 0};
    CALL(setrlimit(RLIMIT_CORE, &none));
    for (int round = 0; round < 30; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_KILL_PROCESS),
                    ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
            pthread_t thread;
            CHECK(!pthread_create(&thread, NULL, offends, NULL));
            pthread_join(thread, NULL);
            _exit(1);
        }
        spin(50000);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("filters are refused");
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
    puts("ok");
}
