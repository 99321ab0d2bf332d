// Close-on-exec descriptors are closed when the new program runs: a pipe of theirs is at its end.
#include <fcntl.h>

#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        CHECK(write(1, "x", 1) == 1);
        spin(20000);
        return 21;
    }
    for (int round = 0; round < 30; ++round) {
        int told[2], closes[2];
        CALL(pipe2(told, O_CLOEXEC));
        CALL(pipe2(closes, O_CLOEXEC | O_NONBLOCK));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(dup2(told[1], 1));
            for (int part = 0; part < 5; ++part) spin(20000);
            execl("/proc/self/exe", "self", "again", NULL);
            CHECK(!"exec failed");
        }
        CALL(close(told[1]));
        CALL(close(closes[1]));
        char byte;
        CHECK(read(told[0], &byte, 1) == 1);
        CHECK(read(closes[0], &byte, 1) == 0);
        expect_exit(child, 21);
        CALL(close(told[0]));
        CALL(close(closes[0]));
    }
    puts("ok");
}
