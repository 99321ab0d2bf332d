// A thread signals the first thread, which computes meanwhile, in the way that argv[1] names. The
// first thread sees by memory that this is done, computes for a moment, and prints which signals it
// has handled: natively all of them, as no call and no time lies between.
//   kill  sigqueue  pidfd             to the process
//   tgkill  tkill  queue  pidfd_thread  to the thread
//   owner                             as the owner of a pipe that is written to
//   handler                           from a handler, which runs in the sender
//   three                             three signals to the process
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parent.h"

enum { status_skipped = 77 };

static volatile sig_atomic_t handled[65];
static volatile int is_sent;
static const char* way;
static pid_t first;
static pthread_t first_thread;
static int ends[2];

static void count(int signal) {
    if (signal == SIGWINCH) {
        kill(getpid(), SIGUSR1);
        return;
    }
    ++handled[signal];
}

static int is_way(const char* name) {
    return strcmp(way, name) == 0;
}

static void signal_by_pidfd(unsigned kind_of_descriptor, unsigned flags) {
    const long descriptor = syscall(SYS_pidfd_open, first, kind_of_descriptor);
    if (descriptor < 0) _exit(status_skipped);
    require(syscall(SYS_pidfd_send_signal, descriptor, SIGUSR1, NULL, flags) == 0, way);
}

static void send_signals(void) {
    const union sigval value = {.sival_int = 7};
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    if (is_way("kill") || is_way("three")) require(kill(first, SIGUSR1) == 0, way);
    if (is_way("three")) require(kill(first, SIGUSR2) == 0 && kill(first, SIGRTMIN + 1) == 0, way);
    if (is_way("sigqueue")) require(sigqueue(first, SIGUSR1, value) == 0, way);
    if (is_way("pidfd")) signal_by_pidfd(0, 0);
    if (is_way("tgkill")) require(pthread_kill(first_thread, SIGUSR1) == 0, way);
    if (is_way("tkill")) require(syscall(SYS_tkill, first, SIGUSR1) == 0, way);
    if (is_way("queue"))
        require(syscall(SYS_rt_tgsigqueueinfo, first, first, SIGUSR1, &info) == 0, way);
    if (is_way("pidfd_thread")) signal_by_pidfd(O_EXCL, 1);  // PIDFD_THREAD, PIDFD_SIGNAL_THREAD
    if (is_way("owner")) require(write(ends[1], "x", 1) == 1, way);
    if (is_way("handler")) require(pthread_kill(pthread_self(), SIGWINCH) == 0, way);
}

static void* sender(void* unused) {
    (void)unused;
    usleep(1000);
    send_signals();
    is_sent = 1;
    return NULL;
}

static void own_pipe(void) {
    require(pipe(ends) == 0 && fcntl(ends[0], F_SETOWN, first) == 0 &&
                fcntl(ends[0], F_SETSIG, SIGUSR1) == 0 &&
                fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0,
            "pipe");
}

int main(int argc, char** argv) {
    way = argc > 1 ? argv[1] : "";
    first = getpid();
    first_thread = pthread_self();
    const int signals[] = {SIGUSR1, SIGUSR2, SIGRTMIN + 1};
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < 3; ++i) {
        signal(signals[i], count);
        sigaddset(&set, signals[i]);
    }
    signal(SIGWINCH, count);
    own_pipe();
    pthread_t thread;
    // The thread inherits the mask.
    sigprocmask(SIG_BLOCK, &set, NULL);
    require(pthread_create(&thread, NULL, sender, NULL) == 0, "pthread_create");
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    while (!is_sent) {
    }
    for (volatile int i = 0; i < 100000; ++i) {
    }
    const int found[] = {handled[signals[0]], handled[signals[1]], handled[signals[2]]};
    printf("%s: %d %d %d\n", way, found[0], found[1], found[2]);
    pthread_join(thread, NULL);
    return 0;
}
