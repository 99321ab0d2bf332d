// Fifty children that live at once end with their own codes, each exactly once.
#include "child.h"

enum { children = 50 };

int main(void) {
    for (int round = 0; round < 3; ++round) {
        pid_t pids[children];
        for (int i = 0; i < children; ++i) {
            pids[i] = CALL(fork());
            if (pids[i] == 0) {
                spin(30000);
                _exit(i);
            }
        }
        int seen[children] = {0};
        for (int i = 0; i < children; ++i) {
            int status = 0;
            const pid_t ended = CALL(waitpid(-1, &status, 0));
            CHECK(WIFEXITED(status));
            const int code = WEXITSTATUS(status);
            CHECK(code < children && pids[code] == ended && !seen[code]);
            seen[code] = 1;
        }
        expect_no_child();
    }
    puts("ok");
}
