// A vforked child writes into its parent's memory, and the parent goes on only after its end.
#include "child.h"

static volatile int steps;

int main(void) {
    static int round;
    for (round = 0; round < 60; ++round) {
        steps = 0;
        const pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            for (int i = 0; i < 5; ++i) {
                spin(15000);
                ++steps;
            }
            _exit(3);
        }
        CHECK(steps == 5);
        spin(30000);
        expect_exit(child, 3);
    }
    expect_no_child();
    puts("ok");
}
