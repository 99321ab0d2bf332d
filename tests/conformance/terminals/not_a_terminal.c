// Terminal calls on a pipe fail with ENOTTY.
#include <sys/ioctl.h>
#include <termios.h>

#include "check.h"

int main(void) {
    int ends[2];
    CALL(pipe(ends));
    for (int round = 0; round < 100; ++round) {
        struct termios settings;
        struct winsize size;
        spin(80000);
        CHECK(isatty(ends[0]) == 0 && errno == ENOTTY);
        CHECK(tcgetattr(ends[1], &settings) == -1 && errno == ENOTTY);
        CHECK(ioctl(ends[0], TIOCGWINSZ, &size) == -1 && errno == ENOTTY);
        CHECK(tcgetpgrp(ends[0]) == -1 && errno == ENOTTY);
    }
    puts("ok");
}
