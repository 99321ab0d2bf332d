// A thread that runs over its stack gets SIGSEGV in the guard page below it.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;
static char* volatile fault;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    fault = info->si_addr;
    siglongjmp(back, 1);
}

static volatile int deepest = -1;

static int recurse(int depth) {
    if (depth == deepest) return 0;
    volatile char frame[512];
    frame[0] = (char)depth;
    return recurse(depth + 1) + frame[0];
}

static void* body(void* argument) {
    (void)argument;
    static char handler_stack[65536];
    const stack_t other = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    CALL(sigaltstack(&other, NULL));
    pthread_attr_t attributes;
    void* base;
    size_t size, guard;
    CHECK(!pthread_getattr_np(pthread_self(), &attributes));
    CHECK(!pthread_attr_getstack(&attributes, &base, &size));
    CHECK(!pthread_attr_getguardsize(&attributes, &guard));
    pthread_attr_destroy(&attributes);
    if (sigsetjmp(back, 1) == 0) recurse(0);
    CHECK(fault < (char*)base && fault >= (char*)base - guard);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CALL(sigaction(SIGSEGV, &action, NULL));
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes));
    CHECK(!pthread_attr_setstacksize(&attributes, 256 * 1024));
    for (int round = 0; round < 40; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, &attributes, body, NULL));
        CHECK(!pthread_join(thread, NULL));
        spin(100000);
    }
    puts("ok");
}
