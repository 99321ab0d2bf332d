// A call that a filter answers with a kill of the thread ends only that thread.
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>

#include "filter.h"

static volatile int word, reached;
_Alignas(16) static char stack[32768];

static int offends(void* argument) {
    (void)argument;
    spin(30000);
    reached = 1;
    syscall(SYS_getppid);
    reached = 2;
    return 0;
}

int main(void) {
    const struct rlimit none = {0, 0};
    CALL(setrlimit(RLIMIT_CORE, &none));
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_KILL_THREAD),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    for (int round = 0; round < 50; ++round) {
        reached = 0;
        CALL(clone(offends, stack + sizeof stack, flags, NULL, (pid_t*)&word, NULL, (pid_t*)&word));
        for (int now; (now = word) != 0;)
            if (syscall(SYS_futex, &word, FUTEX_WAIT, now, NULL) < 0) CHECK(errno == EAGAIN);
        CHECK(reached == 1);
        spin(40000);
    }
    puts("ok");
}
