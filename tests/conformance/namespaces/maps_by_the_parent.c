// A child in a user namespace is the overflow user until its parent maps it, and root afterwards.
#include <sys/syscall.h>

#include "enter.h"

int main(void) {
    const unsigned user = geteuid();
    if (user == 65534) skip("the overflow user itself");
    for (int round = 0; round < 30; ++round) {
        int there[2], back[2];
        CALL(pipe(there));
        CALL(pipe(back));
        const pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
        if (child < 0) skip("namespaces are refused");
        if (child == 0) {
            char byte;
            CHECK(getuid() == 65534);
            spin(30000);
            CHECK(write(back[1], "x", 1) == 1);
            CHECK(read(there[0], &byte, 1) == 1);
            if (byte == 's') _exit(0);
            CHECK(getuid() == 0);
            _exit(0);
        }
        char byte, name[64], map[64];
        CHECK(read(back[0], &byte, 1) == 1);
        snprintf(name, sizeof name, "/proc/%d/uid_map", child);
        snprintf(map, sizeof map, "0 %u 1", user);
        const int mapped = write_file(name, map);
        CHECK(write(there[1], mapped == 0 ? "x" : "s", 1) == 1);
        expect_exit(child, 0);
        if (mapped != 0) skip("maps of user namespaces are refused");
        spin(40000);
        for (int i = 0; i < 2; ++i) {
            CALL(close(there[i]));
            CALL(close(back[i]));
        }
    }
    puts("ok");
}
