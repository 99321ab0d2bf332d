// no_new_privs, once set, stays set, in children and behind exec.
#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        spin(30000);
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 72 : 1;
    }
    CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    for (int round = 0; round < 25; ++round) {
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == -1 && errno == EINVAL);
        spin(60000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            execl("/proc/self/exe", "self", "again", NULL);
            CHECK(!"exec failed");
        }
        expect_exit(child, 72);
    }
    puts("ok");
}
