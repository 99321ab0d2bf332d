// Handlers of pthread_atfork run once for each fork of the program, and for no other.
#include <pthread.h>

#include "child.h"

static volatile int before, in_parent, in_child;

static void prepare(void) {
    ++before;
}
static void parent(void) {
    ++in_parent;
}
static void child_side(void) {
    ++in_child;
}

int main(void) {
    CHECK(!pthread_atfork(prepare, parent, child_side));
    for (int round = 0; round < 60; ++round) {
        spin(80000);
        CHECK(before == round && in_parent == round && in_child == 0);
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(before == round + 1 && in_child == 1 && in_parent == round);
            _exit(0);
        }
        expect_exit(child, 0);
    }
    puts("ok");
}
