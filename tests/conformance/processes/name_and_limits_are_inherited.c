// A child inherits name, nice value, limits and timer slack; exec changes only the name.
#include <sys/prctl.h>
#include <sys/resource.h>

#include "child.h"

static void look(const char* name) {
    char now[16] = {0};
    CALL(prctl(PR_GET_NAME, now));
    CHECK(strcmp(now, name) == 0);
    CHECK(getpriority(PRIO_PROCESS, 0) == 7);
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_FSIZE, &limit));
    CHECK(limit.rlim_cur == 123456);
    CHECK(prctl(PR_GET_TIMERSLACK) == 77777);
}

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        char name[16] = {0};
        CALL(prctl(PR_GET_NAME, name));
        CHECK(strcmp(name, "parent's name") != 0);
        CALL(prctl(PR_SET_NAME, "again"));
        look("again");
        return 40;
    }
    if (getpriority(PRIO_PROCESS, 0) > 7) skip("a nice value above 7");
    CALL(prctl(PR_SET_NAME, "parent's name"));
    CALL(setpriority(PRIO_PROCESS, 0, 7));
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_FSIZE, &limit));
    if (limit.rlim_max < 123456) skip("a small limit of file sizes");
    limit.rlim_cur = 123456;
    CALL(setrlimit(RLIMIT_FSIZE, &limit));
    CALL(prctl(PR_SET_TIMERSLACK, 77777));
    for (int round = 0; round < 25; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            look("parent's name");
            spin(30000);
            execl("/proc/self/exe", "self", "again", NULL);
        }
        spin(50000);
        expect_exit(child, 40);
        look("parent's name");
    }
    puts("ok");
}
