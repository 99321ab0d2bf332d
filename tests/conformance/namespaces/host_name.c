// A host name that is set in a UTS namespace is unknown outside, and stays set.
#include "enter.h"

int main(void) {
    char before[65] = {0}, now[65] = {0};
    CALL(gethostname(before, sizeof before - 1));
    int ends[2];
    CALL(pipe(ends));
    const pid_t outside = CALL(fork());
    if (outside == 0) {
        char byte;
        CALL(close(ends[1]));
        while (read(ends[0], &byte, 1) == 1) {
            CALL(gethostname(now, sizeof now - 1));
            CHECK(strcmp(now, before) == 0);
        }
        _exit(0);
    }
    enter_user_namespace(CLONE_NEWUTS);
    for (int round = 0; round < 60; ++round) {
        char name[32];
        snprintf(name, sizeof name, "name-%d", round);
        CALL(sethostname(name, strlen(name)));
        CHECK(write(ends[1], "x", 1) == 1);
        spin(60000);
        CALL(gethostname(now, sizeof now - 1));
        CHECK(strcmp(now, name) == 0);
    }
    CALL(close(ends[1]));
    expect_exit(outside, 0);
    puts("ok");
}
