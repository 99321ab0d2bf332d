// A fault is handled by the thread that made it, while the others run on.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

static __thread volatile sig_atomic_t faults;
static __thread char* page;
static atomic_int stop;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    CHECK(info->si_addr == page + 8);
    ++faults;
    CALL(mprotect(page, 4096, PROT_READ | PROT_WRITE));
}

static void* body(void* argument) {
    (void)argument;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int round = 0; round < 60; ++round) {
        spin(30000);
        page[8] = (char)round;
        CHECK(faults == round + 1);
        CHECK(page[8] == round);
        CALL(mprotect(page, 4096, PROT_NONE));
    }
    return NULL;
}

static void* runs_on(void* argument) {
    (void)argument;
    while (!stop) spin(10000);
    CHECK(faults == 0);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        CHECK(!pthread_create(&threads[i], NULL, i < 2 ? body : runs_on, NULL));
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    stop = 1;
    CHECK(!pthread_join(threads[2], NULL));
    puts("ok");
}
