// A thread made by a bare clone shares everything, and its id word is cleared at its end.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include "check.h"

static volatile int word, result;
_Alignas(16) static char stack[32768];

static int body(void* argument) {
    spin(40000);
    result = *(int*)argument * 2;
    return 0;
}

int main(void) {
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    for (int round = 0; round < 60; ++round) {
        result = -1;
        const pid_t id = CALL(
            clone(body, stack + sizeof stack, flags, &round, (pid_t*)&word, NULL, (pid_t*)&word));
        CHECK(id != getpid());
        for (int now; (now = word) != 0;) {
            CHECK(now == id);
            if (syscall(SYS_futex, &word, FUTEX_WAIT, now, NULL) < 0) CHECK(errno == EAGAIN);
        }
        CHECK(result == round * 2);
        spin(20000);
    }
    puts("ok");
}
