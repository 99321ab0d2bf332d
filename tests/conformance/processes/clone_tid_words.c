// clone stores the child's id at the given address, and 0 at the child's end.
// diverges: children write to memory that it shares with them
#include <sched.h>
#include <sys/mman.h>

#include "child.h"

static volatile pid_t* words;
_Alignas(16) static char stack[32768];

static int body(void* argument) {
    (void)argument;
    CHECK(words[1] == getpid());
    spin(30000);
    return 0;
}

int main(void) {
    words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(words != MAP_FAILED);
    const int flags =
        CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
    for (int round = 0; round < 50; ++round) {
        words[0] = words[1] = -1;
        const pid_t child = CALL(clone(body, stack + sizeof stack, flags, NULL, (pid_t*)&words[0],
                                       NULL, (pid_t*)&words[1]));
        CHECK(words[0] == child);
        spin(40000);
        expect_exit(child, 0);
        CHECK(words[0] == child);
        CHECK(words[1] == 0);
    }
    puts("ok");
}
