// The system call setresuid itself changes one thread, whose files then belong to that user.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "check.h"

static void* other(void* argument) {
    (void)argument;
    if (syscall(SYS_setresuid, -1, 65534, -1) != 0) return (void*)1;
    for (int round = 0; round < 40; ++round) {
        spin(60000);
        CHECK(syscall(SYS_geteuid) == 65534);
        struct stat about;
        const int file = CALL(memfd_create("own", 0));
        CALL(fstat(file, &about));
        CHECK(about.st_uid == 65534);
        CALL(close(file));
    }
    return NULL;
}

int main(void) {
    if (geteuid() != 0) skip("not root");
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, other, NULL));
    for (int round = 0; round < 40; ++round) {
        spin(60000);
        CHECK(syscall(SYS_geteuid) == 0);
    }
    void* result;
    CHECK(!pthread_join(thread, &result));
    if (result) skip("no other user");
    puts("ok");
}
