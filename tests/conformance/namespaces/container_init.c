// An init that waits for one program and reaps all others ends with that program's status.
#include "enter.h"

static void body(void) {
    const pid_t program = CALL(fork());
    if (program == 0) {
        for (int i = 0; i < 4; ++i) {
            const pid_t daemon_maker = CALL(fork());
            if (daemon_maker == 0) {
                if (CALL(fork()) == 0) {
                    spin(100000);
                    _exit(9);
                }
                _exit(0);
            }
            expect_exit(daemon_maker, 0);
            spin(60000);
        }
        _exit(57);
    }
    int others = 0, code = -1;
    for (;;) {
        int status;
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0) break;
        if (ended == program)
            code = WEXITSTATUS(status);
        else
            others += WIFEXITED(status) && WEXITSTATUS(status) == 9 ? 1 : 100;
    }
    CHECK(errno == ECHILD && code == 57 && others == 4);
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 10; ++round) as_init(body);
    puts("ok");
}
