// A thread that unshares descriptors or the working directory changes nothing for the others.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#include "check.h"

static void* body(void* argument) {
    const int shared = *(int*)argument;
    CALL(unshare(CLONE_FILES | CLONE_FS));
    CALL(close(shared));
    CALL(chdir("/proc"));
    spin(60000);
    CHECK(fcntl(shared, F_GETFD) == -1 && errno == EBADF);
    return NULL;
}

int main(void) {
    CALL(chdir("/"));
    for (int round = 0; round < 50; ++round) {
        int shared = CALL(open("/dev/null", O_RDONLY));
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, &shared));
        spin(40000);
        CHECK(!pthread_join(thread, NULL));
        CHECK(fcntl(shared, F_GETFD) == 0);
        char where[16];
        CHECK(getcwd(where, sizeof where) && strcmp(where, "/") == 0);
        CALL(close(shared));
    }
    puts("ok");
}
