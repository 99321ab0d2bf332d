// Makes system calls through one instruction, and says what it knows of them: for each number, the
// name, how many calls it has made, how many failed, and how many bytes the others transferred.
//
// transfers files|restarts|interrupted|threads|thread-restarts
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct made {
    const char* name;
    long number;
    uint64_t count, failed, bytes;
};
static struct made all[] = {
    {"read", SYS_read, 0, 0, 0},         {"write", SYS_write, 0, 0, 0},
    {"pread64", SYS_pread64, 0, 0, 0},   {"pwrite64", SYS_pwrite64, 0, 0, 0},
    {"readv", SYS_readv, 0, 0, 0},       {"writev", SYS_writev, 0, 0, 0},
    {"sendfile", SYS_sendfile, 0, 0, 0}, {"copy_file_range", SYS_copy_file_range, 0, 0, 0},
    {"splice", SYS_splice, 0, 0, 0},     {"getrandom", SYS_getrandom, 0, 0, 0},
    {"getppid", SYS_getppid, 0, 0, 0},
};
enum { kinds = sizeof all / sizeof *all };

static long make_call_here(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile(".globl transfers_system_call\ntransfers_system_call: syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    for (int i = 0; i < kinds; ++i) {
        if (all[i].number != number) continue;
        __atomic_fetch_add(&all[i].count, 1, __ATOMIC_RELAXED);
        if (result < 0) __atomic_fetch_add(&all[i].failed, 1, __ATOMIC_RELAXED);
        if (result > 0) __atomic_fetch_add(&all[i].bytes, (uint64_t)result, __ATOMIC_RELAXED);
    }
    return result;
}

// Compilers do not make copies of what is called through it.
static long (*volatile make_call)(long, long, long, long, long, long, long) = make_call_here;

static long call(long number, long a, const void* b, long c) {
    return make_call(number, a, (long)b, c, 0, 0, 0);
}

static char buffer[65536];
static int handled;

static void on_alarm(int signal) {
    (void)signal;
    // The same call within the call that it interrupts.
    call(SYS_read, -1, buffer, 1);
    call(SYS_getppid, 0, NULL, 0);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void files(void) {
    FILE *first = tmpfile(), *second = tmpfile();
    if (!first || !second) exit(1);
    const int one = fileno(first), two = fileno(second);
    for (int i = 0; i < 100; ++i) call(SYS_write, one, buffer, 1000 + i);
    make_call(SYS_pwrite64, one, (long)buffer, 777, 5, 0, 0);
    lseek(one, 0, SEEK_SET);
    while (call(SYS_read, one, buffer, 4096) > 0) continue;
    make_call(SYS_pread64, one, (long)buffer, 333, 100, 0, 0);
    for (int i = 0; i < 7; ++i) call(SYS_read, -1, buffer, 10);
    for (int i = 0; i < 3; ++i) call(SYS_write, one, NULL, 10);
    struct iovec parts[2] = {{buffer, 10}, {buffer + 100, 50}};
    lseek(one, 1000, SEEK_SET);
    call(SYS_readv, one, parts, 2);
    call(SYS_writev, two, parts, 2);
    lseek(one, 0, SEEK_SET);
    make_call(SYS_sendfile, two, one, 0, 5000, 0, 0);
    long from = 0, to = 0;
    make_call(SYS_copy_file_range, one, (long)&from, two, (long)&to, 3000, 0);
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    from = 0;
    make_call(SYS_splice, one, (long)&from, ends[1], 0, 1234, 0);
    call(SYS_getrandom, (long)buffer, (void*)33, 0);
    for (int i = 0; i < 5; ++i) call(SYS_getppid, 0, NULL, 0);
}

enum { messages = 40, message_bytes = 100 };

static void send_messages(int to) {
    for (int i = 0; i < messages; ++i) {
        struct timespec pause = {0, 4000000};
        while (nanosleep(&pause, &pause) != 0) continue;
        if (write(to, buffer, message_bytes) != message_bytes) exit(1);
    }
}

static void take_messages(int from) {
    for (long left = messages * message_bytes; left > 0;) {
        const long got = call(SYS_read, from, buffer, message_bytes);
        if (got < 0 && got != -EINTR) exit(1);
        if (got > 0) left -= got;
    }
}

static void* send_from_thread(void* to) {
    send_messages(*(int*)to);
    return NULL;
}

static void begin_alarms(int flags) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void end_alarms(void) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

static void from_child(int flags) {
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    const pid_t child = fork();
    if (child == 0) {
        send_messages(ends[1]);
        _exit(0);
    }
    begin_alarms(flags);
    take_messages(ends[0]);
    end_alarms();
    waitpid(child, NULL, 0);
}

static void from_thread(int has_alarms) {
    int ends[2];
    pthread_t sender;
    if (pipe(ends) != 0 || pthread_create(&sender, NULL, send_from_thread, &ends[1]) != 0) exit(1);
    if (has_alarms) begin_alarms(SA_RESTART);
    take_messages(ends[0]);
    if (has_alarms) end_alarms();
    pthread_join(sender, NULL);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "files") == 0)
        files();
    else if (strcmp(mode, "restarts") == 0)
        from_child(SA_RESTART);
    else if (strcmp(mode, "interrupted") == 0)
        from_child(0);
    else if (strcmp(mode, "threads") == 0)
        from_thread(0);
    else if (strcmp(mode, "thread-restarts") == 0)
        from_thread(1);
    else
        return 2;
    printf("handled %d\n", handled);
    for (int i = 0; i < kinds; ++i)
        if (all[i].count != 0)
            printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", all[i].name, all[i].count,
                   all[i].failed, all[i].bytes);
    return 0;
}
