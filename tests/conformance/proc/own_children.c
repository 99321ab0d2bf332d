// /proc/self/task/*/children lists the program's own children, in their order.
#include <fcntl.h>

#include "child.h"

static void take(char* text, size_t size) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d/children", getpid());
    const int file = open(name, O_RDONLY);
    if (file < 0) skip("no lists of children");
    const ssize_t length = CALL(read(file, text, size - 1));
    text[length] = 0;
    CALL(close(file));
}

int main(void) {
    char text[256], expected[64];
    for (int round = 0; round < 30; ++round) {
        for (int look = 0; look < 3; ++look) {
            take(text, sizeof text);
            CHECK(text[0] == 0);
            spin(60000);
        }
        const pid_t one = CALL(fork());
        if (one == 0) sleep_for_ever();
        const pid_t two = CALL(fork());
        if (two == 0) sleep_for_ever();
        spin(40000);
        take(text, sizeof text);
        snprintf(expected, sizeof expected, "%d %d ", one, two);
        CHECK(strcmp(text, expected) == 0);
        CALL(kill(one, SIGKILL));
        CALL(kill(two, SIGKILL));
        expect_killed(one, SIGKILL);
        expect_killed(two, SIGKILL);
    }
    puts("ok");
}
