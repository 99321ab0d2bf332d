// An init that works for long reaps its children and the orphans of its namespace, and no others.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 15; ++round) {
        int gate[2], status, middles = 0, orphans = 0;
        CALL(pipe(gate));
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            for (int i = 0; i < 2; ++i)
                if (CALL(fork()) == 0) {
                    char byte;
                    for (int part = 0; part < 10; ++part) spin(60000);
                    CHECK(read(gate[0], &byte, 1) == 1);
                    _exit(51);
                }
            for (int part = 0; part < 10; ++part) spin(60000);
            CHECK(write(gate[1], "xx", 2) == 2);
            _exit(50);
        }
        for (pid_t ended; (ended = waitpid(-1, &status, __WALL)) > 0;) {
            CHECK(WIFEXITED(status));
            CHECK(WEXITSTATUS(status) == (ended == middle ? 50 : 51));
            *(ended == middle ? &middles : &orphans) += 1;
        }
        CHECK(errno == ECHILD && middles == 1 && orphans == 2);
        CALL(close(gate[0]));
        CALL(close(gate[1]));
    }
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}
