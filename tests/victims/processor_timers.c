// Timers of processor time: signals that come after some work, with what the kernel tells of them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "parent.h"

static volatile sig_atomic_t signals;
static volatile int code, value;

static void note(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    ++signals;
    code = info->si_code;
    value = info->si_value.sival_int;
}

static void handle(int number) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    require(sigaction(number, &action, NULL) == 0, "sigaction");
    signals = 0;
}

// Works without any system call until so many signals have come.
static void work_until(int count) {
    for (unsigned long turns = 0; signals < count; ++turns) __asm__ volatile("" : "+r"(turns));
}

static void interval(int which, int number, const char* name) {
    handle(number);
    const struct itimerval every = {{0, 10000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    require(setitimer(which, &every, NULL) == 0, "setitimer");
    struct itimerval now;
    require(getitimer(which, &now) == 0, "getitimer");
    const int has_time = now.it_value.tv_usec > 0;
    work_until(5);
    require(setitimer(which, &off, &now) == 0, "setitimer");
    printf("%s: %d %d %d\n", name, has_time, code == SI_KERNEL, (int)now.it_interval.tv_usec);
}

static timer_t create(clockid_t clock, struct sigevent event) {
    timer_t timer;
    require(timer_create(clock, &event, &timer) == 0, "timer_create");
    const struct itimerspec every = {{0, 10000000}, {0, 5000000}};
    require(timer_settime(timer, 0, &every, NULL) == 0, "timer_settime");
    return timer;
}

static void created(clockid_t clock, const char* name) {
    handle(SIGUSR1);
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    event.sigev_value.sival_int = 42;
    const timer_t timer = create(clock, event);
    work_until(3);
    struct itimerspec now;
    require(timer_gettime(timer, &now) == 0, "timer_gettime");
    require(timer_delete(timer) == 0, "timer_delete");
    printf("%s: %d %d %ld %d\n", name, code == SI_TIMER, value, now.it_interval.tv_nsec,
           timer_getoverrun(timer) == -1 && errno == EINVAL);
}

// The signal is blocked, and waits until somebody asks for it.
static void blocked(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    require(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0, "pthread_sigmask");
    const struct itimerval once = {{0, 0}, {0, 5000}};
    require(setitimer(ITIMER_PROF, &once, NULL) == 0, "setitimer");
    sigset_t pending;
    do {
        for (unsigned long turns = 0; turns < 100000; ++turns) __asm__ volatile("" : "+r"(turns));
        require(sigpending(&pending) == 0, "sigpending");
    } while (!sigismember(&pending, SIGPROF));
    int number = 0;
    require(sigwait(&set, &number) == 0, "sigwait");
    require(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0, "pthread_sigmask");
    printf("blocked: %d\n", number == SIGPROF);
}

static void called(union sigval sent) {
    value = sent.sival_int;
    ++signals;
}

// glibc has a thread of its own that gets the signals, and calls a function in yet another one.
static void by_thread(void) {
    signals = 0;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = called;
    event.sigev_value.sival_int = 7;
    const timer_t timer = create(CLOCK_PROCESS_CPUTIME_ID, event);
    work_until(2);
    require(timer_delete(timer) == 0, "timer_delete");
    printf("by thread: %d\n", value);
}

// Exact mode follows no program that makes this call.
static void let_go(void) {
    handle(SIGPROF);
    handle(SIGUSR1);
    const struct itimerval every = {{0, 10000}, {0, 5000}};
    require(setitimer(ITIMER_PROF, &every, NULL) == 0, "setitimer");
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    create(CLOCK_PROCESS_CPUTIME_ID, event);
    work_until(2);
    const long descriptor = syscall(SYS_userfaultfd, 0);
    if (descriptor >= 0) close((int)descriptor);
    signals = 0;
    work_until(10);
    struct itimerval now;
    require(getitimer(ITIMER_PROF, &now) == 0, "getitimer");
    printf("let go: %d\n", (int)now.it_interval.tv_usec);
}

int main(int argc, char* argv[]) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "let_go") == 0) {
        let_go();
        return 0;
    }
    const int with_threads = strcmp(mode, "thread") == 0;
    interval(ITIMER_PROF, SIGPROF, "prof");
    interval(ITIMER_VIRTUAL, SIGVTALRM, "virtual");
    created(CLOCK_PROCESS_CPUTIME_ID, "process");
    created(CLOCK_THREAD_CPUTIME_ID, "thread");
    clockid_t own;
    require(clock_getcpuclockid(getpid(), &own) == 0, "clock_getcpuclockid");
    created(own, "own");
    blocked();
    if (with_threads) by_thread();
    return 0;
}
