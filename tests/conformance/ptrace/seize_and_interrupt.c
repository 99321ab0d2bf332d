// A seized child runs until it is interrupted, and is unchanged when it is detached.
// diverges: children write to memory that it shares with them
// leave-out: sampled,bursts,family: processes that are followed cannot be traced by others
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "child.h"

int main(void) {
    volatile uint64_t* counter =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(counter != MAP_FAILED);
    const pid_t child = CALL(fork());
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            spin(1000);
            ++*counter;
        }
    }
    for (int round = 0; round < 20; ++round) {
        if (ptrace(PTRACE_SEIZE, child, 0, 0) != 0) {
            kill(child, SIGKILL);
            skip("ptrace is refused");
        }
        CALL(ptrace(PTRACE_INTERRUPT, child, 0, 0));
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        CHECK(status >> 16 == PTRACE_EVENT_STOP);
        const uint64_t stopped = *counter;
        spin(60000);
        CHECK(*counter == stopped);
        CALL(ptrace(PTRACE_DETACH, child, 0, 0));
        while (*counter == stopped) sched_yield();
    }
    CALL(kill(child, SIGKILL));
    expect_killed(child, SIGKILL);
    puts("ok");
}
