// Under an RLIMIT_NPROC with room for one child, one child can always be made, and no second one.
// known-fault: sampled: replicas and the fork server count
#include <sys/resource.h>

#include "enter.h"

int main(void) {
    if (geteuid() == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            skip("no other user");
        CALL(prctl(PR_SET_DUMPABLE, 1));
    }
    enter_user_namespace(0);
    const struct rlimit limit = {2, 2};
    CALL(setrlimit(RLIMIT_NPROC, &limit));
    int gate[2];
    CALL(pipe(gate));
    for (int round = 0; round < 40; ++round) {
        spin(60000);
        const pid_t child = fork();
        if (child < 0 && errno == EAGAIN && round == 0)
            skip("processes are counted for all namespaces");
        CHECK(child >= 0);
        if (child == 0) {
            char byte;
            CHECK(read(gate[0], &byte, 1) == 1);
            _exit(0);
        }
        const pid_t second = fork();
        if (second == 0) _exit(0);
        if (second > 0) {
            CHECK(write(gate[1], "x", 1) == 1);
            expect_exit(second, 0);
            skip("processes are not limited");
        }
        CHECK(errno == EAGAIN);
        spin(30000);
        CHECK(write(gate[1], "x", 1) == 1);
        expect_exit(child, 0);
    }
    puts("ok");
}
