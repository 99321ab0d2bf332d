// A timer with SIGEV_THREAD_ID sends its signal to the thread that it was made for.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { threads = 3 };

static __thread volatile sig_atomic_t own_handled;
static volatile sig_atomic_t handled;

static void count(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)context;
    CHECK(info->si_value.sival_int == (int)syscall(SYS_gettid));
    ++own_handled;
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void* work(void* unused) {
    const pid_t thread = (pid_t)syscall(SYS_gettid);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = SIGRTMIN + 1,
                             .sigev_value.sival_int = thread};
    event.sigev_notify_thread_id = thread;
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CALL(timer_settime(timer, 0, &(struct itimerspec){{0, 2000000}, {0, 2000000}}, NULL));
    while (own_handled < 10) spin(1000);
    CALL(timer_delete(timer));
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    CALL(sigaction(SIGRTMIN + 1, &action, NULL));
    pthread_t ids[threads];
    for (int each = 0; each < threads; ++each) {
        CHECK(pthread_create(&ids[each], NULL, work, NULL) == 0);
    }
    for (int each = 0; each < threads; ++each) CHECK(pthread_join(ids[each], NULL) == 0);
    CHECK(own_handled == 0 && handled >= 10 * threads);
    printf("ok\n");
}
