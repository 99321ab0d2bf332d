// Each thread takes its signals on an alternate stack of its own.
#include <pthread.h>
#include <signal.h>

#include "check.h"

static __thread char own_stack[32768];
static __thread volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    char here;
    CHECK(&here >= own_stack && &here < own_stack + sizeof own_stack);
    stack_t now;
    CALL(sigaltstack(NULL, &now));
    CHECK(now.ss_flags == SS_ONSTACK && now.ss_sp == own_stack);
    ++handled;
}

static void* body(void* argument) {
    (void)argument;
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    CALL(sigaltstack(&stack, NULL));
    for (int round = 0; round < 60; ++round) {
        spin(30000);
        CHECK(!pthread_kill(pthread_self(), SIGUSR1));
        CHECK(handled == round + 1);
        stack_t now;
        CALL(sigaltstack(NULL, &now));
        CHECK(now.ss_flags == 0 && now.ss_sp == own_stack && now.ss_size == sizeof own_stack);
    }
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    CALL(sigaction(SIGUSR1, &action, NULL));
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}
