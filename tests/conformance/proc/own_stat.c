// /proc/self/stat shows the running state, the parent, group and session, and one thread.
#include <fcntl.h>

#include "check.h"

int main(void) {
    const pid_t parent = getppid(), group = getpgrp(), session = getsid(0);
    unsigned long first_size = 0;
    for (int round = 0; round < 100; ++round) {
        spin(100000);
        char text[1024];
        const int file = CALL(open("/proc/self/stat", O_RDONLY));
        const ssize_t length = CALL(read(file, text, sizeof text - 1));
        CALL(close(file));
        text[length] = 0;
        CHECK(atoi(text) == getpid());
        char state;
        int now_parent, now_group, now_session, threads;
        unsigned long child_faults, child_major, size;
        long child_user, child_system;
        CHECK(
            sscanf(strrchr(text, ')') + 2,
                   "%c %d %d %d %*d %*d %*u %*u %lu %*u %lu %*u %*u %ld %ld %*d %*d %d %*d %*u %lu",
                   &state, &now_parent, &now_group, &now_session, &child_faults, &child_major,
                   &child_user, &child_system, &threads, &size) == 10);
        CHECK(state == 'R' && now_parent == parent && now_group == group && now_session == session);
        CHECK(child_faults == 0 && child_major == 0 && child_user == 0 && child_system == 0 &&
              threads == 1);
        if (round == 0) first_size = size;
        CHECK(size == first_size);
    }
    puts("ok");
}
