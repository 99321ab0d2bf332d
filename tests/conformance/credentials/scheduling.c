// Scheduling policy and I/O priority stay as set, and are inherited unless reset on fork.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    const struct sched_param none = {0};
    for (int round = 0; round < 40; ++round) {
        const int policy = round % 2 ? SCHED_BATCH : SCHED_OTHER;
        const int flag = round % 4 < 2 ? 0 : SCHED_RESET_ON_FORK;
        if (flag == 0 && sched_getscheduler(0) & SCHED_RESET_ON_FORK && geteuid() != 0) continue;
        if (sched_setscheduler(0, policy | flag, &none) != 0) skip("the policy is fixed");
        spin(50000);
        CHECK(sched_getscheduler(0) == (policy | flag));
        const int priority = (int)syscall(SYS_ioprio_get, 1, 0);
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            CHECK((int)syscall(SYS_ioprio_get, 1, 0) == priority);
            _exit(sched_getscheduler(0) == policy ? 0 : 1);
        }
        expect_exit(child, 0);
    }
    puts("ok");
}
