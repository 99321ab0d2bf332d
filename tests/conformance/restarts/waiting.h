// Checks what may interrupt a call that waits, and what the call must return then.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { millisecond_ns = 1000000, second_ns = 1000000000 };

struct waiting_call {
    // Waits until woken, or for minutes. Returns -1 and sets errno as the call does.
    long (*enter)(void);
    // Ends the wait. It may be called in a signal handler or in a child. Null for calls that only a
    // handler ends.
    void (*wake)(void);
    // What `enter` returns when woken.
    long done;
    // The call goes on after a handler with SA_RESTART. Other calls return EINTR after any handler.
    bool restarts;
};

static const struct waiting_call* interrupted_call;
static volatile sig_atomic_t handled;
static volatile sig_atomic_t wake_at;

static inline void on_interrupt(int signal_number) {
    const int error = errno;
    CHECK(signal_number == SIGALRM || signal_number == SIGUSR1);
    if (++handled == wake_at) interrupted_call->wake();
    errno = error;
}

static inline void handle(int signal_number, int flags) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = flags};
    CALL(sigaction(signal_number, &action, NULL));
}

// Sends SIGALRM every `every_us` microseconds; 0 stops it.
static inline void tick(int every_us) {
    struct itimerval timer = {.it_value.tv_usec = every_us, .it_interval.tv_usec = every_us};
    CALL(setitimer(ITIMER_REAL, &timer, NULL));
}

static inline int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * second_ns + now.tv_nsec;
}

// Returns the time of a clock that is `duration_ns` from now.
static inline struct timespec after(clockid_t clock, int64_t duration_ns) {
    const int64_t then = now_ns(clock) + duration_ns;
    return (struct timespec){then / second_ns, then % second_ns};
}

// Returns memory that children share with their parent.
static inline void* shared_memory(size_t size) {
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

// Reaps a child that must exit with status 0.
static inline void reap(pid_t child) {
    int status;
    pid_t reaped;
    while ((reaped = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    CHECK(reaped == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline void sleep_shortly(void) {
    nanosleep(&(struct timespec){.tv_nsec = millisecond_ns / 2}, NULL);
}

static inline char state_of(pid_t process) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    const int file = open(path, O_RDONLY);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = '\0';
    const char* end = strrchr(text, ')');
    return end != NULL ? end[2] : '?';
}

// Gives a process time to reach one of the states. The results do not depend on whether it does.
static inline void give_time(pid_t process, const char* states) {
    for (int look = 0; look < 100 && strchr(states, state_of(process)) == NULL; ++look) {
        sleep_shortly();
    }
}

// A child ends the wait, and lives until the wait has ended, so that its death cannot end the wait.
static inline void check_woken(const struct waiting_call* call) {
    for (int round = 0; round < 15; ++round) {
        int over[2];
        spin(50000);
        CALL(pipe(over));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            sleep_shortly();
            call->wake();
            _exit(read(over[0], &byte, 1) != 1);
        }
        CHECK(call->enter() == call->done);
        CHECK(write(over[1], "x", 1) == 1);
        reap(child);
        close(over[0]);
        close(over[1]);
    }
}

// A handler ends the wait, unless the call restarts and the handler has SA_RESTART.
static inline void check_handled(const struct waiting_call* call, int flags) {
    const bool goes_on = call->restarts && (flags & SA_RESTART) != 0;
    handle(SIGALRM, flags);
    tick(3000);
    for (int round = 0; round < 4; ++round) {
        wake_at = goes_on ? 2 : -1;
        handled = 0;
        spin(50000);
        const long result = call->enter();
        if (goes_on) {
            CHECK(result == call->done);
            CHECK(handled >= 2);
        } else {
            CHECK(result == -1 && errno == EINTR);
            CHECK(handled >= 1);
        }
    }
    tick(0);
}

// Stops and continues a process three times, then sends it SIGUSR1.
static inline void stop_thrice(pid_t process) {
    for (int stop = 0; stop < 3; ++stop) {
        give_time(process, "S");
        CALL(kill(process, SIGSTOP));
        give_time(process, "Tt");
        CALL(kill(process, SIGCONT));
    }
    give_time(process, "S");
    CALL(kill(process, SIGUSR1));
}

// SIGSTOP and SIGCONT do not end the wait, except for calls that return EINTR then. SIGUSR1 ends
// it.
static inline void check_stopped(const struct waiting_call* call) {
    handle(SIGUSR1, SA_RESTART);
    for (int round = 0; round < 2; ++round) {
        wake_at = call->restarts ? 1 : -1;
        handled = 0;
        const pid_t parent = getpid();
        const pid_t child = CALL(fork());
        if (child == 0) {
            stop_thrice(parent);
            _exit(0);
        }
        const long result = call->enter();
        if (call->restarts) {
            CHECK(result == call->done);
            CHECK(handled == 1);
        } else {
            CHECK(result == -1 && errno == EINTR);
        }
        reap(child);
        CHECK(handled == 1);
    }
}

static inline void check_waiting(const struct waiting_call* call) {
    interrupted_call = call;
    if (call->wake != NULL) check_woken(call);
    check_handled(call, 0);
    check_handled(call, SA_RESTART);
    check_stopped(call);
    printf("ok\n");
}
