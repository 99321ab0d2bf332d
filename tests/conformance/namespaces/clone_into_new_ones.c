// One clone makes process 1 of a new PID namespace and a new user namespace.
#include "enter.h"

_Alignas(16) static char stack[65536];

static int body(void* argument) {
    (void)argument;
    CHECK(getpid() == 1);
    CHECK(getuid() == 65534);
    const pid_t child = CALL(fork());
    if (child == 0) _exit(getpid() == 2 ? 0 : 1);
    spin(40000);
    expect_exit(child, 0);
    expect_no_child();
    return 54;
}

int main(void) {
    char text[16] = {0};
    FILE* file = fopen("/proc/sys/kernel/overflowuid", "r");
    if (!file || !fgets(text, sizeof text, file) || atoi(text) != 65534)
        skip("another overflow user");
    fclose(file);
    for (int round = 0; round < 30; ++round) {
        const pid_t child =
            clone(body, stack + sizeof stack, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, NULL);
        if (child < 0) skip("namespaces are refused");
        spin(50000);
        expect_exit(child, 54);
    }
    puts("ok");
}
