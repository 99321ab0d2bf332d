// The library's setresuid changes all threads, which it interrupts, and harms none.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

static atomic_int stop;
static int ends[2];

static void* spins(void* argument) {
    (void)argument;
    while (!stop) {
        spin(5000);
        const long user = syscall(SYS_geteuid);
        CHECK(user == 0 || user == 65534);
    }
    return NULL;
}

static void* sleeps(void* argument) {
    (void)argument;
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(syscall(SYS_geteuid) == 0);
    return NULL;
}

int main(void) {
    if (geteuid() != 0) skip("not root");
    CALL(pipe(ends));
    pthread_t threads[2];
    CHECK(!pthread_create(&threads[0], NULL, spins, NULL));
    CHECK(!pthread_create(&threads[1], NULL, sleeps, NULL));
    for (int round = 0; round < 60; ++round) {
        if (setresuid((uid_t)-1, round % 2 ? 0 : 65534, (uid_t)-1) != 0) skip("no other user");
        CHECK(geteuid() == (round % 2 ? 0 : 65534));
        spin(40000);
    }
    stop = 1;
    CHECK(!pthread_join(threads[0], NULL));
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(!pthread_join(threads[1], NULL));
    puts("ok");
}
