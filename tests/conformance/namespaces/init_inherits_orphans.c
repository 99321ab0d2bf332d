// An init inherits the orphans of its namespace, and reaps exactly them.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 6; ++round) {
        int tell[2];
        CALL(pipe(tell));
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            for (int i = 0; i < 3; ++i) {
                const pid_t orphan = CALL(fork());
                if (orphan == 0) {
                    spin(30000);
                    const pid_t self = getpid();
                    CHECK(write(tell[1], &self, sizeof self) == sizeof self);
                    _exit(51);
                }
            }
            spin(30000);
            _exit(50);
        }
        pid_t known[3];
        for (int i = 0; i < 3; ++i) CHECK(read(tell[0], &known[i], sizeof(pid_t)) == sizeof(pid_t));
        int middles = 0, orphans = 0, status;
        for (pid_t ended; (ended = waitpid(-1, &status, __WALL)) > 0;) {
            CHECK(WIFEXITED(status));
            if (ended == middle) {
                CHECK(WEXITSTATUS(status) == 50);
                ++middles;
                continue;
            }
            CHECK(ended == known[0] || ended == known[1] || ended == known[2]);
            CHECK(WEXITSTATUS(status) == 51);
            ++orphans;
        }
        CHECK(errno == ECHILD && middles == 1 && orphans == 3);
        CALL(close(tell[0]));
        CALL(close(tell[1]));
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 5; ++round) as_init(body);
    puts("ok");
}
