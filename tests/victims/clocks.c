// Says what clocks show, as names and nanoseconds.
//
// clocks read|wait|timed|fork: `read` reads each clock, `wait` also sleeps and waits for nothing,
// `timed` waits for a condition with a time-out of 1000 s, `fork` has a child that reads.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static void say(const char* name, long long ns) {
    printf("%s %lld\n", name, ns);
}
static long long ns_of(struct timespec time) {
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static struct timespec now(clockid_t clock) {
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return time;
}
static void say_clock(const char* name) {
    say(name, ns_of(now(CLOCK_MONOTONIC)));
}

static void work(void) {
    for (long i = 0; i < 2000000; ++i) __asm__ volatile("nop");
}

static void read_all(void) {
    struct timespec by_call = {0, 0};
    struct timeval day;
    struct rusage usage;
    struct tms times_used;
    say("real", ns_of(now(CLOCK_REALTIME)));
    say("coarse", ns_of(now(CLOCK_REALTIME_COARSE)));
    gettimeofday(&day, NULL);
    say("day", day.tv_sec * 1000000000LL + day.tv_usec * 1000LL);
    say("time", time(NULL) * 1000000000LL);
    say_clock("monotonic");
    say("boot", ns_of(now(CLOCK_BOOTTIME)));
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &by_call);
    say("call", ns_of(by_call));
    say("ticks", (long long)__rdtsc());
    unsigned processor;
    say("ticks2", (long long)__rdtscp(&processor));
    say_clock("before");
    work();
    say_clock("behind");
    say("process", ns_of(now(CLOCK_PROCESS_CPUTIME_ID)));
    getrusage(RUSAGE_SELF, &usage);
    say("usage", usage.ru_utime.tv_sec * 1000000000LL + usage.ru_utime.tv_usec * 1000LL);
    say("system", usage.ru_stime.tv_sec * 1000000000LL + usage.ru_stime.tv_usec * 1000LL);
    say("times", (long long)times(&times_used));
}

static void wait_for_all(void) {
    say_clock("begin");
    usleep(20000);
    say_clock("usleep");
    struct timespec until = now(CLOCK_MONOTONIC);
    until.tv_sec += 500;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    say_clock("until");
    poll(NULL, 0, 30);
    say_clock("poll");
    struct timeval short_time = {0, 15000};
    select(0, NULL, NULL, NULL, &short_time);
    say_clock("select");
    struct timespec shorter = {0, 10000000};
    ppoll(NULL, 0, &shorter, NULL);
    say_clock("ppoll");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* wait_in_thread(void* argument) {
    struct timespec until = now(CLOCK_REALTIME);
    until.tv_sec += 1000;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void wait_for_condition(void) {
    say_clock("begin");
    wait_in_thread(NULL);
    say_clock("alone");
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_in_thread, NULL) == 0) pthread_join(thread, NULL);
    say_clock("thread");
}

static void fork_and_read(void) {
    usleep(5000);
    say_clock("parent");
    fflush(stdout);
    if (fork() == 0) {
        say_clock("child");
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    say_clock("after");
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "read") == 0)
        read_all();
    else if (strcmp(mode, "wait") == 0)
        wait_for_all();
    else if (strcmp(mode, "timed") == 0)
        wait_for_condition();
    else if (strcmp(mode, "fork") == 0)
        fork_and_read();
    else
        return 2;
    return 0;
}
