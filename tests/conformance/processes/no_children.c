// A process that has made no child never has one to wait for, of any kind.
#include "child.h"

int main(void) {
    for (int round = 0; round < 200; ++round) {
        spin(80000);
        expect_no_child();
        siginfo_t info;
        CHECK(waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | __WALL) == -1);
        CHECK(errno == ECHILD);
        CHECK(waitpid(-1, NULL, WNOHANG | __WCLONE) == -1);
        CHECK(errno == ECHILD);
        CHECK(waitpid(0, NULL, WNOHANG) == -1);
        CHECK(errno == ECHILD);
    }
    puts("ok");
}
