// With WNOHANG waitpid returns 0 while a child lives, and does not write the status.
#include "child.h"

int main(void) {
    for (int round = 0; round < 20; ++round) {
        int gate[2];
        CALL(pipe(gate));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            CHECK(read(gate[0], &byte, 1) == 1);
            _exit(5);
        }
        for (int look = 0; look < 10; ++look) {
            int status = 0x1234;
            CHECK(waitpid(-1, &status, WNOHANG) == 0);
            CHECK(status == 0x1234);
            CHECK(waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED) == 0);
            spin(30000);
        }
        CHECK(write(gate[1], "x", 1) == 1);
        expect_exit(child, 5);
        expect_no_child();
        close(gate[0]);
        close(gate[1]);
    }
    puts("ok");
}
